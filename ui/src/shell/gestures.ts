// Pointer, wheel and keys over the lanes: drag picks a time, wheel zooms, shift drags.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import { TimeScale } from "../charts/scale.ts";
import { limits, lookAt, pick, picked, pointed, shownWindow, update } from "../state/store.ts";
import { around, moved, zoomed } from "../state/window.ts";

/** A drag shorter than this is a click. */
const CLICK: CssPixels = 4;
/** How much one step of a wheel or a key zooms. */
const ZOOM_STEP = 1.35;

/** The time under a pointer, by the box of the lanes. */
function timeAt(box: DOMRect, clientX: CssPixels): Nanoseconds {
  return new TimeScale(shownWindow.peek(), box.width).time(clientX - box.left);
}

/** Zooms at the pointer, or moves sideways. `true` if the event was used. */
export function onWheel(event: WheelEvent, box: DOMRect, isPlainZoom: boolean): boolean {
  const window = shownWindow.peek();
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const delta = event.deltaY || event.deltaX;
  if (isSideways) {
    const by = ((event.deltaX || event.deltaY) / box.width) * (window.to - window.from);
    lookAt(moved(window, by, limits.peek()));
    return true;
  }
  if (!(isPlainZoom || event.ctrlKey || event.metaKey || event.altKey)) return false;
  const factor = ZOOM_STEP ** Math.max(Math.min(delta / 100, 3), -3);
  lookAt(zoomed(window, timeAt(box, event.clientX), factor, limits.peek()));
  return true;
}

/** Begins a drag: with the shift key or the middle button it moves the window, otherwise it picks a time. */
export function onPointerDown(event: PointerEvent, box: DOMRect): void {
  if (event.button > 1 || event.clientX < box.left) return;
  const isMove = event.button === 1 || event.shiftKey;
  const [start, window] = [timeAt(box, event.clientX), shownWindow.peek()];
  const target = event.currentTarget as HTMLElement;
  const before = picked.peek();
  const drag = (now: PointerEvent): void => {
    if (isMove) {
      const by = ((event.clientX - now.clientX) / box.width) * (window.to - window.from);
      lookAt(moved(window, by, limits.peek()));
    } else if (Math.abs(now.clientX - event.clientX) >= CLICK) pickBetween(start, timeAt(box, now.clientX));
  };
  const end = (now: PointerEvent): void => {
    target.removeEventListener("pointermove", drag);
    const isClick = Math.abs(now.clientX - event.clientX) < CLICK;
    if (isClick && !isMove && before && isOutside(start, before)) update({ selection: null });
  };
  target.setPointerCapture(event.pointerId);
  target.addEventListener("pointermove", drag);
  target.addEventListener("pointerup", end, { once: true });
  event.preventDefault();
}

function isOutside(at: Nanoseconds, { from, to }: { from: Nanoseconds; to: Nanoseconds }): boolean {
  return at < from || at > to;
}

function pickBetween(a: Nanoseconds, b: Nanoseconds): void {
  const { from, to } = limits.peek();
  const inside = (at: Nanoseconds): Nanoseconds => Math.round(Math.min(Math.max(at, from), to));
  const selection = { from: inside(Math.min(a, b)), to: inside(Math.max(a, b)) };
  if (selection.to > selection.from) update({ selection });
}

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
  Escape: () => pick(null),
  "/": () => document.querySelector<HTMLInputElement>('input[type="search"]')?.focus(),
};

/** Keys work wherever nothing is being typed. `true` if the key was used. */
export function onKey(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, dialog")) return false;
  if (event.key.startsWith("Arrow") && target.closest("[data-arrows]")) return false;
  const action = KEYS[event.key];
  action?.();
  return action !== undefined;
}

function zoomBy(factor: number): void {
  const window = shownWindow.peek();
  const at = pointed.peek() ?? (window.from + window.to) / 2;
  lookAt(zoomed(window, at, factor, limits.peek()));
}

function moveBy(part: number): void {
  const window = shownWindow.peek();
  lookAt(moved(window, part * (window.to - window.from), limits.peek()));
}

export function zoomToPicked(): void {
  const selection = picked.peek();
  if (selection) lookAt(around(selection, limits.peek(), 0.02));
}
