// Points at what a click has led to: brings it into sight and lights it up for a moment.

const FLASH = "flash";
/** As long as its animation; where nothing moves it is a frame for so long. */
const FLASH_MS = 1_200;

/** Lanes by their keys, and what is below them; once they have been drawn. */
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
  // The animation begins anew only when the browser has seen the class go.
  void (element as HTMLElement).offsetWidth;
  element.classList.add(FLASH);
  setTimeout(() => element.classList.remove(FLASH), FLASH_MS);
}
