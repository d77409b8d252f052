// The address and the state in step: every step that a person takes is one step back, however quickly clicks follow each other.
// What goes on while a hand moves (a window, a text) is one step together.

import { effect, type Signal } from "@preact/signals";
import { fromHash, toHash, type ViewState } from "./view_state.ts";

/** Changes of the same kind that follow each other faster than this are one step. */
const ONE_STEP_MS = 1_000;
/** The address is written so much later: while lanes are moved it would change with every frame. */
const WRITE_AFTER_MS = 150;

/** How often something was clicked. */
let clicks = 0;
/** What was written last, when, what had changed in it, and after how many clicks. */
let written = { hash: "", at: 0, changed: "", clicks: 0 };
/** The part of the address that was read or written last. */
let known = "";
let timer = 0;
/** What is to be written when the timer is over. */
let pending: string | null = null;

/** Reads the state from the address and keeps both in step; `settle` decides what an address leaves open. */
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

/** What was done before a click is a step of its own, and what the click does is the next one. */
function click(): void {
  writePending();
  clicks += 1;
}

/** The address becomes that of the state without a step back to what it was: nobody did anything. */
export function replaceAddress(state: ViewState): void {
  // What somebody has just done is a step of its own.
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
  // Somebody has just set another address, which is about to be read: it is newer than this state.
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

/** Names of the entries in which two addresses differ. */
function changedBetween(a: string, b: string): string {
  const [one, other] = [new URLSearchParams(a), new URLSearchParams(b)];
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => one.get(name) !== other.get(name)).join();
}
