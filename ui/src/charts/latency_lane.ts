// Requests over time. Each cell counts the requests of one duration range: darker means more. Lines show the median and the
// 99th percentile, a dash shows the longest request. The scale of durations is logarithmic.

import type { CssPixels, Interval, Nanoseconds } from "../base/quantities.ts";
import { lowerBound } from "../base/search.ts";
import type { Latency, LatencyLines } from "../data/source.ts";
import { font } from "./canvas.tsx";
import { drawGrid } from "./counter_lane.ts";
import type { Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

const LEAST_ALPHA = 0.16;

/** The durations that a picture shows, from bottom to top. */
export class LengthScale {
  readonly shortest: Nanoseconds;
  readonly longest: Nanoseconds;
  readonly height: CssPixels;

  constructor({ step, stepsPerDoubling }: Latency, height: CssPixels) {
    let [first, last] = [Number.POSITIVE_INFINITY, 0];
    for (const one of step) [first, last] = [Math.min(first, one), Math.max(last, one)];
    this.shortest = 2 ** (Math.min(first, last) / stepsPerDoubling);
    // Some space above the longest.
    this.longest = 2 ** ((last + 2) / stepsPerDoubling);
    this.height = height;
  }

  y(length: Nanoseconds): CssPixels {
    const part = Math.log(Math.max(length, 1) / this.shortest) / Math.log(this.longest / this.shortest);
    return this.height - 1 - part * (this.height - 4);
  }

  /** The duration at a height. */
  length(y: CssPixels): Nanoseconds {
    const part = (this.height - 1 - y) / (this.height - 4);
    return this.shortest * (this.longest / this.shortest) ** Math.min(Math.max(part, 0), 1);
  }

  /** The powers of ten in the picture. */
  ticks(): Nanoseconds[] {
    const ticks: Nanoseconds[] = [];
    for (let at = 10 ** Math.ceil(Math.log10(this.shortest)); at <= this.longest; at *= 10) ticks.push(at);
    return ticks;
  }
}

export interface LatencyLook {
  /** Requests longer than this are slow. */
  threshold: number | null;
  label: (length: Nanoseconds) => string;
  /** The quantiles of another recording. */
  ghost: LatencyLines | null;
}

export function drawLatency(
  context: CanvasRenderingContext2D,
  latency: Latency,
  scale: TimeScale,
  lengths: LengthScale,
  palette: Palette,
  { threshold, label, ghost }: LatencyLook,
): void {
  if (latency.column.length === 0) return;
  const ticks = lengths.ticks().map((at) => lengths.y(at));
  drawGrid(context, ticks, scale.width, palette);
  drawCells(context, latency, scale, lengths, palette, threshold);
  if (threshold !== null) drawThreshold(context, scale, lengths.y(threshold), palette);
  if (ghost) {
    context.setLineDash([4, 3]);
    drawLine(context, ghost, ghost.p50, scale, lengths, { colour: palette.muted, width: 1 });
    drawLine(context, ghost, ghost.p99, scale, lengths, { colour: palette.muted, width: 1.4 });
    context.setLineDash([]);
  }
  drawLongest(context, latency.lines, scale, lengths, palette);
  drawLine(context, latency.lines, latency.lines.p50, scale, lengths, { colour: palette.text, width: 1 });
  drawLine(context, latency.lines, latency.lines.p99, scale, lengths, { colour: palette.pain, width: 1.6 });
  drawLabels(context, lengths, palette, label);
}

function drawCells(
  context: CanvasRenderingContext2D,
  latency: Latency,
  scale: TimeScale,
  lengths: LengthScale,
  palette: Palette,
  threshold: number | null,
): void {
  const column = (latency.to - latency.from) / latency.columns;
  const most = latency.count.reduce((all, one) => Math.max(all, one), 0);
  for (let cell = 0; cell < latency.column.length; cell += 1) {
    const left = scale.x(latency.from + latency.column[cell] * column);
    const right = scale.x(latency.from + (latency.column[cell] + 1) * column);
    if (right < 0 || left > scale.width) continue;
    const length = 2 ** (latency.step[cell] / latency.stepsPerDoubling);
    const [bottom, top] = [lengths.y(length), lengths.y(length * 2 ** (1 / latency.stepsPerDoubling))];
    context.globalAlpha = LEAST_ALPHA + (1 - LEAST_ALPHA) * Math.sqrt(latency.count[cell] / most);
    context.fillStyle = threshold !== null && length >= threshold ? palette.pain : palette.accent;
    context.fillRect(left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
  }
  context.globalAlpha = 1;
}

function drawThreshold(context: CanvasRenderingContext2D, scale: TimeScale, y: CssPixels, palette: Palette): void {
  context.strokeStyle = palette.pain;
  context.lineWidth = 1;
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(0, Math.round(y) + 0.5);
  context.lineTo(scale.width, Math.round(y) + 0.5);
  context.stroke();
  context.setLineDash([]);
}

/** The longest of each part: one slow request in a hundred does not move a quantile, and its cell is very pale. */
function drawLongest(
  context: CanvasRenderingContext2D,
  { t, max, length }: LatencyLines,
  scale: TimeScale,
  lengths: LengthScale,
  palette: Palette,
): void {
  context.fillStyle = palette.text;
  context.globalAlpha = 0.7;
  for (let row = 0; row < t.length; row += 1) {
    const [left, right] = [scale.x(t[row]), scale.x(t[row] + length)];
    context.fillRect(left, Math.round(lengths.y(max[row])) - 1, Math.max(right - left - 1, 1), 1);
  }
  context.globalAlpha = 1;
}

/** A step line with gaps where no request began. */
function drawLine(
  context: CanvasRenderingContext2D,
  { t, length }: LatencyLines,
  values: Float64Array,
  scale: TimeScale,
  lengths: LengthScale,
  { colour, width }: { colour: string; width: number },
): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (let row = 0; row < t.length; row += 1) {
    const [left, y] = [scale.x(t[row]), lengths.y(values[row])];
    const isNext = row > 0 && t[row] - t[row - 1] < length * 1.5;
    if (isNext) context.lineTo(left, y);
    else context.moveTo(left, y);
    context.lineTo(scale.x(t[row] + length), y);
  }
  context.stroke();
}

function drawLabels(
  context: CanvasRenderingContext2D,
  lengths: LengthScale,
  palette: Palette,
  label: (length: Nanoseconds) => string,
): void {
  context.font = font(10);
  context.textBaseline = "bottom";
  for (const at of lengths.ticks()) {
    const [text, y] = [label(at), lengths.y(at)];
    if (y < 12) continue;
    context.globalAlpha = 0.8;
    context.fillStyle = palette.surface;
    context.fillRect(2, y - 12, context.measureText(text).width + 4, 11);
    context.globalAlpha = 1;
    context.fillStyle = palette.muted;
    context.fillText(text, 4, y - 1);
  }
}

/** The row of the lines that is valid at an instant, or -1. */
export function lineAt({ t, length }: LatencyLines, at: Nanoseconds): number {
  const row = lowerBound(t, at + 1) - 1;
  return row >= 0 && at < t[row] + length ? row : -1;
}

/** The durations between two heights, widened by the rounding of a cell. */
export function lengthsBetween(lengths: LengthScale, a: CssPixels, b: CssPixels): Interval {
  return {
    from: Math.floor(lengths.length(Math.max(a, b))),
    to: Math.ceil(lengths.length(Math.min(a, b))),
  };
}
