// A level below its limit, with what was lost there and what happened meanwhile. Or the stages of something,
// stacked on top of each other.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import { lowerBound } from "../base/search.ts";
import type { FigurePart } from "../data/overview.ts";
import type { CounterSeries } from "../data/source.ts";
import { valueAt } from "./counter_lane.ts";
import { css, type Palette } from "./palette.ts";
import { niceTop, type TimeScale } from "./scale.ts";
import { stack } from "./stacked_lane.ts";

export interface FigurePicture {
  series: readonly CounterSeries[];
  parts: readonly FigurePart[];
  marks: Marks;
}

/** When each marked thing happened, and its kind. */
export interface Marks {
  t: Float64Array;
  kind: Uint8Array;
  kinds: number;
}

/** The limit is drawn to scale unless the level would then look flat below it. */
const MOST_ROOM = 4;
const MARK: CssPixels = 4;
const ROOM: CssPixels = 4;
/** Labels of limits that are closer together than this cannot be read. */
const LABEL: CssPixels = 12;

/** The lines of one kind. */
export function linesOf({ series, parts }: FigurePicture, ...wanted: readonly FigurePart[]): CounterSeries[] {
  return series.filter((_, index) => wanted.includes(parts[index]));
}

/** The sum of all limits at the end of the visible time; 0 without a limit. */
export function limitOf(picture: FigurePicture, scale: TimeScale): number {
  const at = scale.window.to;
  return linesOf(picture, "limit").reduce((sum, line) => sum + (valueAt(line, at, false) ?? line.last[0] ?? 0), 0);
}

/** The limits as lines: their sum for one whole, otherwise each one by itself. */
function limitsOf(picture: FigurePicture, isOneWhole: boolean, scale: TimeScale): number[] {
  if (isOneWhole) return [limitOf(picture, scale)].filter((limit) => limit > 0);
  return linesOf(picture, "limit").map((line) => line.last.at(-1) ?? 0);
}

/** The highest visible value. */
export function peakOf(picture: FigurePicture, scale: TimeScale, tops: readonly Float64Array[]): number {
  let most = (tops.at(-1) ?? new Float64Array()).reduce((all, one) => Math.max(all, one), 0);
  for (const { t, max } of linesOf(picture, "before")) {
    const end = lowerBound(t, scale.window.to);
    for (let row = lowerBound(t, scale.window.from); row < end; row += 1) most = Math.max(most, max[row]);
  }
  return most;
}

export function drawFigure(
  context: CanvasRenderingContext2D,
  picture: FigurePicture,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
  { isOneWhole, label }: { isOneWhole: boolean; label: (value: number) => string },
): void {
  const tops = stack(linesOf(picture, "level", "stage"), scale, false);
  const peak = peakOf(picture, scale, tops);
  const limits = limitsOf(picture, isOneWhole, scale);
  const near = limits.filter((limit) => limit <= MOST_ROOM * peak);
  const top = niceTop(Math.max(peak, ...near));
  const y = (value: number): CssPixels => height - 1 - (value / top) * (height - 1 - ROOM);
  drawLevels(context, tops, y, palette);
  for (const before of linesOf(picture, "before"))
    drawSaw(context, before, linesOf(picture, "level")[0], scale, y, palette);
  let last = Number.POSITIVE_INFINITY;
  for (const limit of near) {
    drawLimit(context, y(limit), Math.abs(last - y(limit)) > LABEL ? label(limit) : "", scale.width, palette);
    last = y(limit);
  }
  for (const drops of linesOf(picture, "drops")) drawDrops(context, drops, scale, height, palette);
  drawMarks(context, picture.marks, scale, height, palette);
}

/** The colour of a level. Several levels are parts of a whole and are stacked. */
export function levelColour(index: number, count: number, palette: Palette): string {
  return count === 1 ? palette.area : css(palette.categories[index % palette.categories.length], palette, 0, 0.75);
}

function drawLevels(
  context: CanvasRenderingContext2D,
  tops: readonly Float64Array[],
  y: (value: number) => CssPixels,
  palette: Palette,
): void {
  for (let part = tops.length - 1; part >= 0; part -= 1) {
    context.fillStyle = levelColour(part, tops.length, palette);
    tops[part].forEach((end, column) => {
      const begin = part > 0 ? tops[part - 1][column] : 0;
      if (end > begin) context.fillRect(column * 2, y(end), 2, y(begin) - y(end));
    });
  }
  if (tops.length !== 1) return;
  context.strokeStyle = palette.line;
  context.lineWidth = 1.25;
  context.beginPath();
  tops[0].forEach((end, column) => {
    // There is no line before the first value.
    if (column === 0 || tops[0][column - 1] === 0) context.moveTo(column * 2, y(end));
    if (end > 0) context.lineTo(column * 2 + 2, y(end));
  });
  context.stroke();
}

/** A line from each value after a drop to the value before the next drop. */
function drawSaw(
  context: CanvasRenderingContext2D,
  before: CounterSeries,
  after: CounterSeries | undefined,
  scale: TimeScale,
  y: (value: number) => CssPixels,
  palette: Palette,
): void {
  if (!after) return;
  context.strokeStyle = palette.muted;
  context.lineWidth = 0.75;
  context.beginPath();
  const first = Math.max(lowerBound(before.t, scale.window.from) - 1, 0);
  for (let row = first; row < before.t.length && before.t[row] < scale.window.to; row += 1) {
    const [x, left] = [scale.x(before.t[row]), lowerBound(after.t, before.t[row]) - 1];
    if (left >= 0) {
      context.moveTo(scale.x(after.t[left]), y(after.last[left]));
      context.lineTo(x, y(before.max[row]));
    } else context.moveTo(x, y(before.max[row]));
    const next = valueAt(after, before.t[row] + scale.perPixel, false);
    if (next !== null) context.lineTo(x, y(next));
  }
  context.stroke();
}

function drawLimit(
  context: CanvasRenderingContext2D,
  y: CssPixels,
  label: string,
  width: CssPixels,
  palette: Palette,
): void {
  context.strokeStyle = palette.muted;
  context.lineWidth = 1;
  context.setLineDash([5, 3]);
  context.beginPath();
  context.moveTo(0, Math.round(y) + 0.5);
  context.lineTo(width, Math.round(y) + 0.5);
  context.stroke();
  context.setLineDash([]);
  context.textBaseline = y > 14 ? "bottom" : "top";
  context.fillStyle = palette.muted;
  context.fillText(label, 4, y > 14 ? y - 1 : y + 2);
}

/** Losses, drawn from the top down: a larger loss reaches further down. */
function drawDrops(
  context: CanvasRenderingContext2D,
  drops: CounterSeries,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
): void {
  const most = drops.max.reduce((all, one) => Math.max(all, one), 0);
  context.fillStyle = palette.pain;
  for (let row = 0; row < drops.t.length; row += 1) {
    const x = scale.x(drops.t[row]);
    if (!(drops.max[row] > 0) || x < 0 || x > scale.width) continue;
    context.fillRect(x, 0, 2, (0.3 + 0.7 * Math.sqrt(drops.max[row] / most)) * height);
  }
}

/** The last kind is the worst. */
export function markColour(kind: number, kinds: number, palette: Palette): string {
  return kind === kinds - 1 ? palette.pain : css(palette.categories[1 + kind], palette);
}

function drawMarks(
  context: CanvasRenderingContext2D,
  marks: Marks,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
): void {
  for (let mark = 0; mark < marks.t.length; mark += 1) {
    const x = scale.x(marks.t[mark]);
    if (x < 0 || x > scale.width) continue;
    context.fillStyle = markColour(marks.kind[mark], marks.kinds, palette);
    context.beginPath();
    context.moveTo(x - MARK, height);
    context.lineTo(x + MARK, height);
    context.lineTo(x, height - 2 * MARK);
    context.fill();
  }
}

/** The kinds of the marks near an instant. */
export function marksNear({ t, kind }: Marks, at: Nanoseconds, near: Nanoseconds): number[] {
  return [...new Set(kind.subarray(lowerBound(t, at - near), lowerBound(t, at + near)))].sort();
}
