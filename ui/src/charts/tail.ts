// Latencies of two recordings in one picture: the part of requests that took longer than each duration. Both axes are logarithmic, so the
// slowest hundredth gets as much space as the rest.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import type { Latency } from "../data/source.ts";
import { font } from "./canvas.tsx";
import type { Palette } from "./palette.ts";

/** Parts of the requests that take longer, at which the axis has its marks. */
const MARKS: readonly (readonly [above: number, title: string])[] = [
  [1, "all"],
  [0.5, "p50"],
  [0.1, "p90"],
  [0.01, "p99"],
  [0.001, "p99.9"],
  [0.0001, "p99.99"],
];
const LEFT: CssPixels = 44;
const BOTTOM: CssPixels = 16;
const TOP: CssPixels = 6;

/** For each duration, the part of the requests that took at least this long, in descending order. */
export interface Tail {
  length: Float64Array;
  part: Float64Array;
  requests: number;
}

export function tailOf({ step, count, stepsPerDoubling }: Latency): Tail {
  const sums = new Map<number, number>();
  for (let cell = 0; cell < step.length; cell += 1) sums.set(step[cell], (sums.get(step[cell]) ?? 0) + count[cell]);
  const steps = [...sums.keys()].sort((a, b) => a - b);
  const requests = steps.reduce((sum, one) => sum + (sums.get(one) ?? 0), 0);
  let left = requests;
  const part = Float64Array.from(steps, (one) => {
    const now = left / requests;
    left -= sums.get(one) ?? 0;
    return now;
  });
  return { length: Float64Array.from(steps, (one) => 2 ** (one / stepsPerDoubling)), part, requests };
}

/** The minimum duration of the slowest `above` part; `null` if there were too few requests. */
export function lengthAt({ length, part, requests }: Tail, above: number): Nanoseconds | null {
  if (above * requests < 1) return null;
  let found = -1;
  while (found + 1 < part.length && part[found + 1] >= above) found += 1;
  return found < 0 ? null : length[found];
}

export interface TailLine {
  tail: Tail;
  colour: string;
  isDashed: boolean;
}

export function drawTails(
  context: CanvasRenderingContext2D,
  lines: readonly TailLine[],
  width: CssPixels,
  height: CssPixels,
  palette: Palette,
  label: (length: Nanoseconds) => string,
): void {
  const known = lines.filter(({ tail }) => tail.length.length > 0);
  if (known.length === 0) return;
  const shortest = Math.min(...known.map(({ tail }) => tail.length[0]));
  const longest = Math.max(...known.map(({ tail }) => tail.length.at(-1) ?? 1)) * 1.3;
  const least = Math.min(...known.map(({ tail }) => tail.part.at(-1) ?? 1));
  const x = (length: Nanoseconds): CssPixels =>
    LEFT + (Math.log(length / shortest) / Math.log(longest / shortest)) * (width - LEFT - 8);
  const y = (part: number): CssPixels =>
    TOP + (Math.log(part) / Math.log(Math.min(least, 0.05))) * (height - TOP - BOTTOM);
  context.font = font(10);
  drawAxes(context, { x, y, width, height, shortest, longest, least }, palette, label);
  for (const line of known) drawTail(context, line, x, y);
}

interface Axes {
  x: (length: Nanoseconds) => CssPixels;
  y: (part: number) => CssPixels;
  width: CssPixels;
  height: CssPixels;
  shortest: Nanoseconds;
  longest: Nanoseconds;
  least: number;
}

function drawAxes(
  context: CanvasRenderingContext2D,
  { x, y, width, height, shortest, longest, least }: Axes,
  palette: Palette,
  label: (length: Nanoseconds) => string,
): void {
  context.textBaseline = "middle";
  for (const [above, title] of MARKS) {
    if (above < Math.min(least, 0.05)) continue;
    context.fillStyle = palette.grid;
    context.fillRect(LEFT, Math.round(y(above)), width - LEFT, 1);
    context.fillStyle = palette.muted;
    context.fillText(title, 2, y(above));
  }
  context.textBaseline = "bottom";
  for (let at = 10 ** Math.ceil(Math.log10(shortest)); at <= longest; at *= 10) {
    context.fillStyle = palette.grid;
    context.fillRect(Math.round(x(at)), TOP, 1, height - TOP - BOTTOM);
    context.fillStyle = palette.muted;
    context.fillText(label(at), x(at) - 8, height);
  }
}

function drawTail(
  context: CanvasRenderingContext2D,
  { tail, colour, isDashed }: TailLine,
  x: (length: Nanoseconds) => CssPixels,
  y: (part: number) => CssPixels,
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.75;
  context.setLineDash(isDashed ? [5, 3] : []);
  context.beginPath();
  tail.length.forEach((length, row) => {
    if (row === 0) context.moveTo(x(length), y(tail.part[row]));
    else context.lineTo(x(length), y(tail.part[row]));
  });
  context.stroke();
  context.setLineDash([]);
}
