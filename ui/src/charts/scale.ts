// Converts between time and pixels, and places the marks of an axis.

import { type CssPixels, type Interval, lengthOf, type Nanoseconds } from "../base/quantities.ts";

/** Steps that are easy to read: 1, 2, 5 below a second, then the divisions of a clock. */
const CLOCK_STEPS: readonly Nanoseconds[] = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
].map((seconds) => seconds * 1e9);

/** Maps a window of time to a width. */
export class TimeScale {
  readonly window: Interval;
  readonly width: CssPixels;

  constructor(window: Interval, width: CssPixels) {
    this.window = window;
    this.width = width;
  }

  x(at: Nanoseconds): CssPixels {
    return ((at - this.window.from) / lengthOf(this.window)) * this.width;
  }

  time(x: CssPixels): Nanoseconds {
    return this.window.from + (x / this.width) * lengthOf(this.window);
  }

  get perPixel(): Nanoseconds {
    return lengthOf(this.window) / Math.max(this.width, 1);
  }
}

/** The smallest readable step that keeps marks at least `apart` pixels from each other. */
export function stepFor(scale: TimeScale, apart: CssPixels): Nanoseconds {
  const least = scale.perPixel * apart;
  if (least < 1e9) return decimalStep(least);
  return CLOCK_STEPS.find((step) => step >= least) ?? Math.ceil(least / 86400e9) * 86400e9;
}

function decimalStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

/** Marks at full steps of the clock, which is `offset` ahead of the axis. */
export function ticks(window: Interval, step: Nanoseconds, offset: Nanoseconds): Nanoseconds[] {
  const marks = [];
  const first = Math.ceil((window.from + offset) / step) * step - offset;
  for (let index = 0; index < 1_000; index += 1) {
    const at = first + index * step;
    if (at >= window.to) break;
    marks.push(at);
  }
  return marks;
}

/** The next round number at or above `value`, for the top of a lane. */
export function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value * 0.999999) ?? 10) * power;
}
