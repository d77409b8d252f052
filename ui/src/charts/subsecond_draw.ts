// Seconds from left to right, the fractions of each second from top to bottom. This shows changes within a second.

import type { CssPixels } from "../base/quantities.ts";
import type { SubsecondHeat } from "../data/source.ts";
import { strengthOf } from "./heat_lane.ts";
import { css, type Palette } from "./palette.ts";

export interface SubsecondGrid {
  first: number;
  seconds: number;
  cell: CssPixels;
}

/** The width of a second: not wider than looks good, not narrower than can be clicked. */
export function gridOf(heat: SubsecondHeat, width: CssPixels): SubsecondGrid {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let cell = 0; cell < heat.second.length; cell += 1) {
    first = Math.min(first, heat.second[cell]);
    last = Math.max(last, heat.second[cell]);
  }
  const seconds = last >= first ? last - first + 1 : 0;
  return { first: seconds > 0 ? first : 0, seconds, cell: Math.min(Math.max(width / Math.max(seconds, 1), 2), 26) };
}

export function drawSubsecond(
  context: CanvasRenderingContext2D,
  heat: SubsecondHeat,
  grid: SubsecondGrid,
  height: CssPixels,
  palette: Palette,
): void {
  const rowHeight = height / heat.rows;
  for (let cell = 0; cell < heat.weight.length; cell += 1) {
    const left = (heat.second[cell] - grid.first) * grid.cell;
    context.fillStyle = colourOf(heat.weight[cell] / heat.full, palette);
    const gap = grid.cell > 5 ? 1 : 0;
    context.fillRect(left, heat.row[cell] * rowHeight, grid.cell - gap, rowHeight + 0.3);
  }
}

/** The colour of a cell that is filled to this part. */
export function colourOf(part: number, palette: Palette): string {
  return css([262, 55, palette.dark ? 62 : 48], palette, 0, strengthOf(part, 1));
}

/** The parts of a full cell whose colours are in the legend. */
export const SCALE: readonly number[] = [0.01, 0.1, 0.25, 0.5, 1];

/** The seconds whose time fits below them. */
export function labelledSeconds(grid: SubsecondGrid, room: CssPixels): number[] {
  const every = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].find((step) => step * grid.cell >= room) ?? 7200;
  const seconds = [];
  for (let second = 0; second < grid.seconds; second += every) seconds.push(second);
  return seconds;
}

/** The start of the cell under the pointer. */
export function timeAt(
  heat: SubsecondHeat,
  grid: SubsecondGrid,
  x: CssPixels,
  y: CssPixels,
  height: CssPixels,
): number {
  const second = grid.first + Math.min(Math.max(Math.floor(x / grid.cell), 0), Math.max(grid.seconds - 1, 0));
  const row = Math.min(Math.max(Math.floor((y / height) * heat.rows), 0), heat.rows - 1);
  return heat.first + second * 1e9 + (row / heat.rows) * 1e9;
}
