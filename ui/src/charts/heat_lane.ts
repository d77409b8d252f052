// Rows of cells. A row is a thread, a cell is a stretch of time. The strength of its colour says how busy the thread was.

import type { CssPixels, Interval } from "../base/quantities.ts";
import type { Heat, RoleHeat } from "../data/source.ts";
import { css, type Hsl, type Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

export interface HeatPicture {
  heat: Heat;
  /** The time that the columns divide. */
  time: Interval;
  /** The colour of each state; without states, a single colour. */
  colours: readonly Hsl[];
}

/** If less than this part of a cell is known, no state counts as its largest. */
export const LEAST_KNOWN = 0.1;

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

/** Draws the cells of one row over the hatching. The hatching shows through where little is known. */
export function drawHeatRow(
  context: CanvasRenderingContext2D,
  picture: HeatPicture,
  cells: readonly number[],
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels },
  palette: Palette,
): void {
  const { heat, time, colours } = picture;
  const column = (time.to - time.from) / heat.columns;
  for (const cell of cells) {
    const left = scale.x(time.from + heat.column[cell] * column);
    const right = scale.x(time.from + (heat.column[cell] + 1) * column);
    const known = heat.known?.[cell] ?? 1;
    if (right < 0 || left > scale.width || known < LEAST_KNOWN) continue;
    const box = [left, row.top, Math.max(right - left, 1), row.height] as const;
    if (heat.known) drawOver(context, box, known, palette);
    const strength = strengthOf(heat.value[cell], heat.full);
    context.fillStyle = css(colours[heat.state[cell] % colours.length], palette, 0, strength);
    context.fillRect(...box);
  }
}

/** Covers the hatching where something is known. */
function drawOver(
  context: CanvasRenderingContext2D,
  box: readonly [number, number, number, number],
  known: number,
  palette: Palette,
): void {
  const alpha = context.globalAlpha;
  context.globalAlpha = alpha * known;
  context.fillStyle = palette.surface;
  context.fillRect(...box);
  context.globalAlpha = alpha;
}

/** Makes even a single sample visible. Twice as busy looks stronger, but not twice as strong. */
export function strengthOf(value: number, full: number): number {
  if (!(value > 0) || !(full > 0)) return 0;
  return 0.18 + 0.82 * Math.sqrt(Math.min(value / full, 1));
}

/** A role as a whole: the contribution of each state to each column. */
export interface RolePicture {
  /** The states that occur, from the bottom up. */
  states: readonly number[];
  /** The upper end of each state in each column. */
  tops: readonly Float64Array[];
  /** The highest column. */
  most: number;
}

/** Stacks the states of a role, in the order of the states. */
export function stackOfRole(heat: RoleHeat, role: number): RolePicture {
  const sums = new Map<number, Float64Array>();
  for (let cell = 0; cell < heat.role.length; cell += 1) {
    if (heat.role[cell] !== role) continue;
    let sum = sums.get(heat.state[cell]);
    if (!sum) {
      sum = new Float64Array(heat.columns);
      sums.set(heat.state[cell], sum);
    }
    sum[heat.column[cell]] += heat.value[cell];
  }
  const states = [...sums.keys()].sort((a, b) => a - b);
  const below = new Float64Array(heat.columns);
  const tops = states.map((state) => {
    sums.get(state)?.forEach((value, column) => {
      below[column] += value;
    });
    return below.slice();
  });
  return { states, tops, most: below.reduce((most, one) => Math.max(most, one), 0) };
}

/** Columns whose height is the number of threads, in the colours of their states. */
export function drawRole(
  context: CanvasRenderingContext2D,
  { tops }: RolePicture,
  time: Interval,
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels },
  most: number,
  colours: readonly string[],
): void {
  tops.forEach((ends, part) => {
    context.fillStyle = colours[part];
    const box = { ...row, most, least: part === 0 ? 1 : 0 };
    drawPart(context, ends, part > 0 ? tops[part - 1] : new Float64Array(ends.length), time, scale, box);
  });
}

/** One state: in each column it begins where the one below it ends. */
function drawPart(
  context: CanvasRenderingContext2D,
  ends: Float64Array,
  begins: Float64Array,
  time: Interval,
  scale: TimeScale,
  /** `least` is the minimum height, so that everything that occurs is visible. */
  box: { top: CssPixels; height: CssPixels; most: number; least: CssPixels },
): void {
  const column = (time.to - time.from) / ends.length;
  const y = (value: number): CssPixels => box.top + box.height * (1 - value / box.most);
  for (let index = 0; index < ends.length; index += 1) {
    const left = scale.x(time.from + index * column);
    const right = scale.x(time.from + (index + 1) * column);
    if (ends[index] <= begins[index] || left > scale.width || right < 0) continue;
    const high = Math.max(y(begins[index]) - y(ends[index]), box.least);
    context.fillRect(left, y(begins[index]) - high, Math.max(right - left, 1), high);
  }
}
