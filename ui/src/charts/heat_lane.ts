// Rows of cells: one row is one thread, one cell a stretch of time, its strength how busy the thread was.

import type { CssPixels, Interval } from "../base/quantities.ts";
import type { Heat, RoleHeat } from "../data/source.ts";
import { css, type Hsl, type Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

export interface HeatPicture {
  heat: Heat;
  /** The time that the columns divide. */
  time: Interval;
  /** Colour of each state; without states one for all. */
  colours: readonly Hsl[];
}

/** Of a cell of which less is known no state is said to be the largest. */
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

/** Draws the cells of one row, on the hatching of what is not known: it shows through where little is. */
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

/** What is known covers the hatching. */
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

/** Even a single sample is seen; twice as busy looks stronger, not twice as strong. */
export function strengthOf(value: number, full: number): number {
  if (!(value > 0) || !(full > 0)) return 0;
  return 0.18 + 0.82 * Math.sqrt(Math.min(value / full, 1));
}

/** A role as a whole: for each column, what each state adds to it. */
export interface RolePicture {
  /** States that occur, from the bottom up. */
  states: readonly number[];
  /** For each of them, where it ends in each column. */
  tops: readonly Float64Array[];
  /** The highest column. */
  most: number;
}

/** The states of a role on top of each other, in the order of the states. */
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

/** Columns that rise with how many threads there are, in the colours of what they do. */
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

/** One state: in each column from where the one below it ends. */
function drawPart(
  context: CanvasRenderingContext2D,
  ends: Float64Array,
  begins: Float64Array,
  time: Interval,
  scale: TimeScale,
  /** `least` is the height of what is there at all, so that it is seen. */
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
