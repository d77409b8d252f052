// Keyboard shortcuts, outside of text fields.

import { limits, lookAt, pick, picked, pointed, shownWindow, slow } from "../state/store.ts";
import { moved, nextTime, previousTime, stretched, zoomed } from "../state/window.ts";
import { ZOOM_STEP, zoomToPicked } from "./gestures.ts";

const KEYS: Record<string, () => void> = {
  w: () => zoomBy(1 / ZOOM_STEP),
  "+": () => zoomBy(1 / ZOOM_STEP),
  s: () => zoomBy(ZOOM_STEP),
  "-": () => zoomBy(ZOOM_STEP),
  a: () => moveBy(-0.2),
  ArrowLeft: () => moveBy(-0.2),
  d: () => moveBy(0.2),
  ArrowRight: () => moveBy(0.2),
  "0": () => lookAt(null),
  z: zoomToPicked,
  f: zoomToPicked,
  m: () => pick(whole(shownWindow.peek())),
  "[": () => pick(previousTime(slow.peek(), picked.peek(), here()) ?? picked.peek()),
  "]": () => pick(nextTime(slow.peek(), picked.peek(), here()) ?? picked.peek()),
  Escape: () => pick(null),
  "/": () => document.querySelector<HTMLInputElement>('input[type="search"]')?.focus(),
  "?": () => document.querySelector<HTMLDialogElement>("dialog.keys")?.showModal(),
};

/** Keys that do something else with Shift. */
const WITH_SHIFT: Record<string, () => void> = {
  ArrowLeft: () => stretchBy(-0.02),
  ArrowRight: () => stretchBy(0.02),
};

/** Returns `true` if the key was used. */
export function onKey(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, dialog")) return false;
  if (event.key.startsWith("Arrow") && target.closest("[data-arrows]")) return false;
  const action = (event.shiftKey && WITH_SHIFT[event.key]) || KEYS[event.key];
  action?.();
  return action !== undefined;
}

/** The instant for keys that need one: under the pointer, else the middle. */
function here(): number {
  const { from, to } = shownWindow.peek();
  return pointed.peek() ?? (from + to) / 2;
}

function zoomBy(factor: number): void {
  lookAt(zoomed(shownWindow.peek(), here(), factor, limits.peek()));
}

function moveBy(part: number): void {
  const window = shownWindow.peek();
  lookAt(moved(window, part * (window.to - window.from), limits.peek()));
}

/** Moves the end of the picked time. If nothing is picked, picking starts here. */
function stretchBy(part: number): void {
  const { from, to } = shownWindow.peek();
  const begun = picked.peek() ?? { from: here(), to: here() };
  const time = stretched(begun, part * (to - from), limits.peek());
  if (time) pick(whole(time));
}

/** The address has whole nanoseconds. */
function whole({ from, to }: { from: number; to: number }): { from: number; to: number } {
  return { from: Math.floor(from), to: Math.ceil(to) };
}
