// The visible part of a tall element while it scrolls.

import { useEffect, useState } from "preact/hooks";
import type { CssPixels } from "../../base/quantities.ts";
import { isForPaper } from "../../state/appearance.ts";

/** Rows slightly outside are drawn as well, so that scrolling shows no gaps. */
const MARGIN: CssPixels = 160;
/** The edges move in steps, so that not every pixel of scrolling requests other rows. */
const STEP: CssPixels = 80;

const ALL: Sight = { from: 0, to: Number.POSITIVE_INFINITY };

export interface Sight {
  from: CssPixels;
  to: CssPixels;
}

export function useSight(element: { current: HTMLElement | null }): Sight {
  const isAll = isForPaper.value;
  const [sight, setSight] = useState<Sight>({ from: 0, to: 600 });
  useEffect(() => {
    const scroller = element.current?.closest(".time-body");
    if (!scroller) return;
    const look = (): void => {
      if (!element.current) return;
      const [outer, inner] = [scroller.getBoundingClientRect(), element.current.getBoundingClientRect()];
      const from = Math.max(Math.floor((outer.top - inner.top - MARGIN) / STEP) * STEP, 0);
      const to = Math.max(Math.ceil((outer.bottom - inner.top + MARGIN) / STEP) * STEP, 0);
      setSight((old) => (old.from === from && old.to === to ? old : { from, to }));
    };
    const observer = new ResizeObserver(look);
    observer.observe(scroller);
    if (element.current) observer.observe(element.current);
    scroller.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  });
  return isAll ? ALL : sight;
}
