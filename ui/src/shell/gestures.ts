// Pointer and wheel over the lanes: drag picks a time, wheel zooms, shift drags.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import { TimeScale } from "../charts/scale.ts";
import { limits, lookAt, picked, shownWindow, update } from "../state/store.ts";
import { around, moved, zoomed } from "../state/window.ts";

/** A drag shorter than this is a click. */
const CLICK: CssPixels = 4;
/** The zoom factor of one step of the wheel or a key. */
export const ZOOM_STEP = 1.35;

/** The time under the pointer, computed from the box of the lanes. */
function timeAt(box: DOMRect, clientX: CssPixels): Nanoseconds {
  return new TimeScale(shownWindow.peek(), box.width).time(clientX - box.left);
}

/** Zooms at the pointer, or moves sideways. Returns `true` if the event was used. */
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

/** Starts a drag. With the shift key or the middle button it moves the window, otherwise it picks a time. */
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

export function zoomToPicked(): void {
  const selection = picked.peek();
  if (selection) lookAt(around(selection, limits.peek(), 0.02));
}

/** A double click zooms to the picked time, as after a click on a mark; elsewhere it zooms in at the pointer. */
export function onDoubleClick(event: MouseEvent, box: DOMRect): void {
  if (event.clientX < box.left) return;
  const [at, selection] = [timeAt(box, event.clientX), picked.peek()];
  // A mark may be drawn wider than its duration.
  const near = new TimeScale(shownWindow.peek(), box.width).perPixel * CLICK;
  if (selection && !isOutside(at, { from: selection.from - near, to: selection.to + near })) zoomToPicked();
  else lookAt(zoomed(shownWindow.peek(), at, ZOOM_STEP ** -3, limits.peek()));
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
