// Runs over time: one number per run as a line, lost time by cause as bars below, and a mark before each run at which
// something changed. Layout is pure; drawing gets a canvas.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import type { LostTime, Run } from "../data/runs.ts";
import { font } from "./canvas.tsx";
import { css, type Palette } from "./palette.ts";
import { niceTop } from "./scale.ts";

/** Causes with a colour of their own; the others are drawn together. */
const COLOURED = 5;
/** Space for the numbers of a scale. */
const LEFT: CssPixels = 62;
/** Space for the title of a panel. */
const HEAD: CssPixels = 22;
const UPPER: CssPixels = 170;
const LOWER: CssPixels = 80;
/** Space for the numbers of the runs. */
const FOOT: CssPixels = 18;
/** A few runs do not fill the width. */
const WIDEST_BAR: CssPixels = 40;
/** The minimum distance between the numbers of runs. */
const APART: CssPixels = 44;
/** A logarithmic scale spans at least this factor. So it contains a round number, and noise does not look like a change. */
const LEAST_SPAN = 2.5;

/** One number per run; `null` where it is unknown. */
export interface Measured {
  title: string;
  unit: string;
  values: readonly (number | null)[];
}

/** p50 and p99 of requests. If no run has requests: the part of the time in which the application was stopped. */
export function measuredOf(runs: readonly Run[]): Measured[] {
  const latencies = runs.map((run) => run.latencies);
  if (latencies.every((one) => one === null)) {
    return [{ title: "time stopped", unit: "ratio", values: runs.map(({ stopped }) => stopped) }];
  }
  return [
    { title: "p50", unit: "ns", values: latencies.map((one) => one?.p50_ns ?? null) },
    { title: "p99", unit: "ns", values: latencies.map((one) => one?.p99_ns ?? null) },
  ];
}

/** A part of each bar. */
export interface Part {
  title: string;
  /** The index of its colour; -1 for several causes together. */
  colour: number;
  ns: readonly Nanoseconds[];
}

/** The causes that lost the most time, from the bottom up, and all others together. */
export function partsOf(lost: readonly LostTime[]): Part[] {
  const parts: Part[] = lost.slice(0, COLOURED).map(({ name, ns }, colour) => ({ title: name, colour, ns }));
  const others = lost.slice(COLOURED);
  if (others.length === 0) return parts;
  const ns = others[0].ns.map((_, run) => others.reduce((sum, other) => sum + other.ns[run], 0));
  return [...parts, { title: others.length === 1 ? others[0].name : `${others.length} others`, colour: -1, ns }];
}

export function partColour({ colour }: Part, palette: Palette): string {
  return colour < 0 ? palette.faint : css(palette.categories[colour], palette);
}

/** Maps values to parts of a height. */
export interface Scale {
  low: number;
  high: number;
  isLogarithmic: boolean;
}

/** Logarithmic, for values that vary by factors. It does not begin at zero. */
export function logarithmic(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return { low: 1, high: 10, isLogarithmic: true };
  const [low, high] = [Math.min(...positive) / 1.2, Math.max(...positive) * 1.2];
  const wider = Math.sqrt(Math.max(LEAST_SPAN / (high / low), 1));
  return { low: low / wider, high: high * wider, isLogarithmic: true };
}

/** From zero to a round number. */
export function linear(values: readonly number[]): Scale {
  return { low: 0, high: niceTop(Math.max(0, ...values)), isLogarithmic: false };
}

/** The part of the height at which a value is drawn. */
export function heightAt({ low, high, isLogarithmic }: Scale, value: number): number {
  const part = isLogarithmic ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : value / high;
  return Math.min(Math.max(part, 0), 1);
}

/** The round numbers of a scale: 1, 2, 5 and so on, or only powers of ten if those are enough. */
export function marksOf({ low, high, isLogarithmic }: Scale): number[] {
  if (!isLogarithmic) return [0, high / 2, high];
  const powers: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) powers.push(power);
  const within = (numbers: readonly number[]): number[] => numbers.filter((one) => one >= low && one <= high);
  const coarse = within(powers);
  return coarse.length > 2 ? coarse : within(powers.flatMap((power) => [power, 2 * power, 5 * power]));
}

/** The position of a run between the edges of the plot. */
export function slotOf(run: number, count: number, width: CssPixels): { from: CssPixels; to: CssPixels } {
  const each = (width - LEFT) / Math.max(count, 1);
  return { from: LEFT + run * each, to: LEFT + (run + 1) * each };
}

/** The run at a position; none left of the plot. */
export function runAt(x: CssPixels, count: number, width: CssPixels): number | null {
  const run = Math.floor(((x - LEFT) / (width - LEFT)) * count);
  return run >= 0 && run < count ? run : null;
}

export interface RunsPicture {
  count: number;
  measures: readonly Measured[];
  parts: readonly Part[];
  /** The runs before which something changed, and what changed. */
  changes: readonly { at: number; by: string }[];
  /** The run under the pointer. */
  marked: number | null;
}

/** The height of the picture. Without lost time it has one panel. */
export function heightOf({ parts }: Pick<RunsPicture, "parts">): CssPixels {
  return HEAD + UPPER + FOOT + (parts.length > 0 ? HEAD + LOWER : 0);
}

/** A value as printed next to a line. */
type Label = (value: number, unit: string) => string;

interface Panel {
  top: CssPixels;
  height: CssPixels;
  width: CssPixels;
  scale: Scale;
}

export function drawRuns(
  context: CanvasRenderingContext2D,
  picture: RunsPicture,
  width: CssPixels,
  palette: Palette,
  label: Label,
): void {
  const { measures, parts, count, marked } = picture;
  const bottom = heightOf(picture) - FOOT;
  const known = measures.flatMap(({ values }) => values).filter((value) => value !== null);
  const scale = measures.length > 1 ? logarithmic(known) : linear(known);
  const upper = { top: HEAD, height: UPPER, width, scale };
  context.font = font(11);
  if (marked !== null) {
    const { from, to } = slotOf(marked, count, width);
    context.fillStyle = palette.area;
    context.fillRect(from, HEAD, to - from, bottom - HEAD);
  }
  drawScale(context, upper, measures[0].unit, palette, label);
  if (parts.length > 0) {
    const totals = Array.from({ length: count }, (_, run) => parts.reduce((sum, { ns }) => sum + ns[run], 0));
    const lower = { top: bottom - LOWER, height: LOWER, width, scale: linear(totals) };
    drawScale(context, lower, "ns", palette, label);
    drawBars(context, lower, picture, palette);
  }
  measures.forEach((measure, index) => {
    drawLine(context, upper, measure, index > 0, palette);
  });
  drawChanges(context, picture, width, bottom, palette);
  drawNumbers(context, count, width, bottom, palette);
}

function yOf({ top, height, scale }: Panel, value: number): CssPixels {
  return top + height * (1 - heightAt(scale, value));
}

function drawScale(
  context: CanvasRenderingContext2D,
  panel: Panel,
  unit: string,
  palette: Palette,
  label: Label,
): void {
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of marksOf(panel.scale)) {
    const y = Math.round(yOf(panel, value));
    context.fillStyle = palette.grid;
    context.fillRect(LEFT, y, panel.width - LEFT, 1);
    context.fillStyle = palette.muted;
    context.fillText(label(value, unit), LEFT - 6, y);
  }
}

function drawLine(
  context: CanvasRenderingContext2D,
  panel: Panel,
  { values }: Measured,
  isDashed: boolean,
  palette: Palette,
): void {
  const x = (run: number): CssPixels => middleOf(run, values.length, panel.width);
  context.strokeStyle = palette.line;
  context.fillStyle = palette.line;
  context.lineWidth = 1.5;
  context.setLineDash(isDashed ? [5, 3] : []);
  context.beginPath();
  values.forEach((value, run) => {
    if (value === null) return;
    // Unknown values are gaps.
    if (run === 0 || values[run - 1] === null) context.moveTo(x(run), yOf(panel, value));
    else context.lineTo(x(run), yOf(panel, value));
  });
  context.stroke();
  context.setLineDash([]);
  values.forEach((value, run) => {
    if (value === null) return;
    context.beginPath();
    context.arc(x(run), yOf(panel, value), 2.5, 0, 2 * Math.PI);
    context.fill();
  });
}

function middleOf(run: number, count: number, width: CssPixels): CssPixels {
  const { from, to } = slotOf(run, count, width);
  return (from + to) / 2;
}

function drawBars(
  context: CanvasRenderingContext2D,
  panel: Panel,
  { parts, count }: RunsPicture,
  palette: Palette,
): void {
  for (let run = 0; run < count; run += 1) {
    const { from, to } = slotOf(run, count, panel.width);
    const wide = Math.min(Math.max((to - from) * 0.7, 1), WIDEST_BAR);
    let below = 0;
    for (const part of parts) {
      const [begin, end] = [yOf(panel, below), yOf(panel, below + part.ns[run])];
      context.fillStyle = partColour(part, palette);
      context.fillRect((from + to - wide) / 2, end, wide, begin - end);
      below += part.ns[run];
    }
  }
}

/** Lines through both panels. The label is next to its line if it fits before the next one. */
function drawChanges(
  context: CanvasRenderingContext2D,
  { changes, count }: RunsPicture,
  width: CssPixels,
  bottom: CssPixels,
  palette: Palette,
): void {
  context.fillStyle = palette.pain;
  context.textAlign = "left";
  context.textBaseline = "middle";
  changes.forEach(({ at, by }, index) => {
    const x = Math.round(slotOf(at, count, width).from);
    const next = index + 1 < changes.length ? slotOf(changes[index + 1].at, count, width).from : width;
    context.fillRect(x - 1, HEAD / 2, 1.5, bottom - HEAD / 2);
    if (context.measureText(by).width + 8 < next - x) context.fillText(by, x + 4, HEAD / 2);
  });
}

function drawNumbers(
  context: CanvasRenderingContext2D,
  count: number,
  width: CssPixels,
  bottom: CssPixels,
  palette: Palette,
): void {
  const every = Math.max(Math.ceil((count * APART) / Math.max(width - LEFT, 1)), 1);
  context.fillStyle = palette.muted;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (let run = 0; run < count; run += every) {
    context.fillText(String(run + 1), middleOf(run, count, width), bottom + FOOT);
  }
  context.textAlign = "left";
}
