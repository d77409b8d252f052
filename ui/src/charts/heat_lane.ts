// Rows of cells: one row is one thread, one cell a stretch of time, its strength how busy the thread was.

import type { CssPixels, Interval } from "../base/quantities.ts";
import type { Heat, RoleHeat } from "../data/source.ts";
import { css, type Hsl, type Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

export interface HeatPicture {
  heat: Heat;
  /** The time that the columns divide. */
  time: Interval;
  columns: number;
  /** Colour of each state; without states one for all. */
  colours: readonly Hsl[];
}

/** The cells of each thread; they come in any order. */
export function cellsByThread(heat: Heat): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  for (let cell = 0; cell < heat.thread.length; cell += 1) {
    const known = rows.get(heat.thread[cell]);
    if (known) known.push(cell);
    else rows.set(heat.thread[cell], [cell]);
  }
  return rows;
}

/** Draws the cells of one row. */
export function drawHeatRow(
  context: CanvasRenderingContext2D,
  picture: HeatPicture,
  cells: readonly number[],
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels },
  palette: Palette,
): void {
  const { heat, time, columns, colours } = picture;
  const column = (time.to - time.from) / columns;
  for (const cell of cells) {
    const left = scale.x(time.from + heat.column[cell] * column);
    const right = scale.x(time.from + (heat.column[cell] + 1) * column);
    if (right < 0 || left > scale.width) continue;
    const strength = strengthOf(heat.value[cell], heat.full);
    context.fillStyle = css(colours[heat.state[cell] % colours.length], palette, 0, strength);
    context.fillRect(left, row.top, Math.max(right - left, 1), row.height);
  }
}

/** Even a single sample is seen; twice as busy looks stronger, not twice as strong. */
export function strengthOf(value: number, full: number): number {
  if (!(value > 0) || !(full > 0)) return 0;
  return 0.18 + 0.82 * Math.sqrt(Math.min(value / full, 1));
}

/** Sums per column of one role. */
export function sumsOfRole(heat: RoleHeat, role: number, columns: number): Float64Array {
  const sums = new Float64Array(columns);
  for (let cell = 0; cell < heat.role.length; cell += 1) {
    if (heat.role[cell] === role) sums[heat.column[cell]] += heat.value[cell];
  }
  return sums;
}

/** A role as a whole: columns that rise with how many threads are busy. */
export function drawSums(
  context: CanvasRenderingContext2D,
  sums: Float64Array,
  time: Interval,
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels },
  most: number,
  colour: string,
): void {
  const column = (time.to - time.from) / sums.length;
  context.fillStyle = colour;
  for (let index = 0; index < sums.length; index += 1) {
    if (sums[index] === 0) continue;
    const left = scale.x(time.from + index * column);
    const right = scale.x(time.from + (index + 1) * column);
    const high = Math.max((sums[index] / most) * row.height, 1);
    context.fillRect(left, row.top + row.height - high, Math.max(right - left - 0.3, 1), high);
  }
}
