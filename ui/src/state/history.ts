// Keeps the address and the state in sync. Every user action is one Back step, even if clicks follow each other quickly.
// A continuous action (moving the window, typing) is a single step.

import { effect, type Signal } from "@preact/signals";
import { fromHash, toHash, type ViewState } from "./view_state.ts";

/** Changes of the same kind within this time are one step. */
const ONE_STEP_MS = 1_000;
/** The delay before the address is written: while lanes are moved it would change with every frame. */
const WRITE_AFTER_MS = 150;

/** The number of clicks so far. */
let clicks = 0;
/** The last written address, when, what had changed, and after how many clicks. */
let written = { hash: "", at: 0, changed: "", clicks: 0 };
/** The part of the address that was read or written last. */
let known = "";
let timer = 0;
/** What to write when the timer fires. */
let pending: string | null = null;

/** Reads the state from the address and keeps both in sync. `settle` decides what an address leaves open. */
export function followAddress(view: Signal<ViewState>, settle: (state: ViewState) => ViewState): void {
  const read = (): void => {
    known = location.hash;
    if (toHash(fromHash(known)) !== toHash(view.peek())) view.value = settle(fromHash(known));
    written = { hash: toHash(view.peek()), at: 0, changed: "", clicks };
  };
  read();
  window.addEventListener("hashchange", read);
  window.addEventListener("popstate", read);
  window.addEventListener("pointerdown", click, { capture: true });
  window.addEventListener("keydown", ({ key }) => key === "Enter" && click(), { capture: true });
  effect(() => {
    const hash = toHash(view.value);
    clearTimeout(timer);
    pending = hash;
    timer = window.setTimeout(writePending, WRITE_AFTER_MS);
  });
}

/** A click ends the current step. What the click does is the next step. */
function click(): void {
  writePending();
  clicks += 1;
}

/** Sets the address to that of the state without adding a Back step, because the user did nothing. */
export function replaceAddress(state: ViewState): void {
  // A user action just before is a step of its own.
  writePending();
  written = { hash: toHash(state), at: 0, changed: "", clicks };
}

function writePending(): void {
  clearTimeout(timer);
  const hash = pending;
  pending = null;
  if (hash !== null) write(hash);
}

function write(hash: string): void {
  // The address was just changed from outside and is about to be read: it is newer than this state.
  if (location.hash !== known || toHash(fromHash(known)) === hash) return;
  const changed = changedBetween(written.hash, hash);
  const now = performance.now();
  const isSameHand = clicks === written.clicks && changed === written.changed;
  const goesOn = changed === "" || (isSameHand && now - written.at < ONE_STEP_MS);
  if (goesOn) history.replaceState(null, "", `#${hash}`);
  else history.pushState(null, "", `#${hash}`);
  known = location.hash;
  written = { hash, at: now, changed, clicks };
}

/** The names of the entries in which two addresses differ. */
function changedBetween(a: string, b: string): string {
  const [one, other] = [new URLSearchParams(a), new URLSearchParams(b)];
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => one.get(name) !== other.get(name)).join();
}
