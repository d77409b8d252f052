// Highlights the target of a click: scrolls it into view and lights it up briefly.

const FLASH = "flash";
/** The duration of the animation. Without animations, a frame is shown for that long. */
const FLASH_MS = 1_200;

/** Lanes by their keys, and the part below them, after they were drawn. */
export function pointAt(lanes: readonly string[], isBelow: boolean): void {
  requestAnimationFrame(() =>
    setTimeout(() => {
      const rows = lanes.flatMap((key) => [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)]);
      const below = isBelow ? [...document.querySelectorAll(".details")] : [];
      rows[0]?.scrollIntoView({ block: "nearest" });
      below[0]?.scrollIntoView({ block: "nearest" });
      for (const element of [...rows, ...below]) flash(element);
    }),
  );
}

function flash(element: Element): void {
  element.classList.remove(FLASH);
  // The animation restarts only after the browser has noticed that the class was removed.
  void (element as HTMLElement).offsetWidth;
  element.classList.add(FLASH);
  setTimeout(() => element.classList.remove(FLASH), FLASH_MS);
}
