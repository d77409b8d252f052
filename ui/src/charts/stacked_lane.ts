// Stacked parts of a whole over time: how many threads are in which state.

import type { CssPixels } from "../base/quantities.ts";
import type { CounterSeries } from "../data/source.ts";
import { valueAt } from "./counter_lane.ts";
import { niceTop, type TimeScale } from "./scale.ts";

/** Columns of this width in pixels are fine enough for the eye. */
const COLUMN: CssPixels = 2;

/** Sums from the bottom up: the upper end of each part in each column. */
export function stack(series: readonly CounterSeries[], scale: TimeScale, isRate: boolean): Float64Array[] {
  const columns = Math.max(Math.ceil(scale.width / COLUMN), 1);
  const below = new Float64Array(columns);
  return series.map((part) => {
    for (let column = 0; column < columns; column += 1) {
      below[column] += valueAt(part, scale.time((column + 0.5) * COLUMN), isRate) ?? 0;
    }
    return below.slice();
  });
}

/** A round number above the highest column. */
export function topOfStack(tops: readonly Float64Array[]): number {
  return niceTop((tops.at(-1) ?? new Float64Array()).reduce((most, one) => Math.max(most, one), 0));
}

export function drawStack(
  context: CanvasRenderingContext2D,
  tops: readonly Float64Array[],
  colours: readonly string[],
  height: CssPixels,
): void {
  const most = topOfStack(tops);
  const y = (value: number): CssPixels => height - (value / most) * (height - 3);
  // Drawn from the highest down: each part is painted over by those below it.
  for (let part = tops.length - 1; part >= 0; part -= 1) {
    context.fillStyle = colours[part % colours.length];
    const ends = tops[part];
    for (let column = 0; column < ends.length; column += 1) {
      const begin = part > 0 ? tops[part - 1][column] : 0;
      if (ends[column] <= begin) continue;
      context.fillRect(column * COLUMN, y(ends[column]), COLUMN, y(begin) - y(ends[column]));
    }
  }
}
