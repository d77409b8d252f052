// Stacks over time: how much of the total weight matches the search.

import type { CssPixels, Interval } from "../base/quantities.ts";
import type { RoleHeat } from "../data/source.ts";
import type { Palette } from "./palette.ts";
import { niceTop, type TimeScale } from "./scale.ts";

/** The weight of all roles in each column. */
export function sumOf({ column, value, columns }: RoleHeat): Float64Array {
  const sums = new Float64Array(columns);
  for (let cell = 0; cell < column.length; cell += 1) sums[column[cell]] += value[cell];
  return sums;
}

export interface FoundPicture {
  time: Interval;
  /** The weight of each column of the time: of the matching stacks, and of all stacks. */
  found: Float64Array;
  all: Float64Array;
}

/** Draws all stacks in a pale colour, and the matching ones in front. */
export function drawFound(
  context: CanvasRenderingContext2D,
  { time, found, all }: FoundPicture,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
): void {
  const most = niceTop(all.reduce((top, one) => Math.max(top, one), 0));
  const draw = (values: Float64Array, fill: string): void => {
    context.fillStyle = fill;
    eachColumn(values, time, scale, (left, width, value) => {
      const high = Math.max((value / most) * (height - 3), 1);
      context.fillRect(left, height - high, width, high);
    });
  };
  draw(all, palette.grid);
  draw(found, palette.match);
}

/** Draws the matching stacks in front of a role's row: a line at the height they would have at the bottom of the row. */
export function drawFoundLine(
  context: CanvasRenderingContext2D,
  values: Float64Array,
  time: Interval,
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels; most: number },
  palette: Palette,
): void {
  for (const [colour, width] of [
    [palette.surface, 3.5],
    [palette.match, 1.75],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    let isOpen = false;
    eachColumn(values, time, scale, (left, wide, value, isNext) => {
      const y = row.top + row.height * (1 - Math.min(value / row.most, 1));
      if (isOpen && isNext) context.lineTo(left, y);
      else context.moveTo(left, y);
      context.lineTo(left + wide, y);
      isOpen = true;
    });
    context.stroke();
  }
}

/** Visits the visible columns that are not empty. `isNext`: the column before was not empty either. */
function eachColumn(
  values: Float64Array,
  time: Interval,
  scale: TimeScale,
  visit: (left: CssPixels, width: CssPixels, value: number, isNext: boolean) => void,
): void {
  const length = (time.to - time.from) / values.length;
  for (let column = 0; column < values.length; column += 1) {
    const [left, right] = [scale.x(time.from + column * length), scale.x(time.from + (column + 1) * length)];
    if (!(values[column] > 0) || right < 0 || left > scale.width) continue;
    visit(left, Math.max(right - left, 1), values[column], column > 0 && values[column - 1] > 0);
  }
}
