// A number over time: the range between the extremes of each bucket, and a line through the last value of each bucket.

import type { CssPixels } from "../base/quantities.ts";
import { lowerBound } from "../base/search.ts";
import type { CounterSeries } from "../data/source.ts";
import { css, type Palette } from "./palette.ts";
import { niceTop, type TimeScale } from "./scale.ts";

export interface CounterPicture {
  series: readonly CounterSeries[];
  /** Whether a value describes the time before its row, as rates do. */
  isRate: boolean;
  pain: boolean;
  threshold: number | null;
  /** The same lines from another recording. */
  ghosts?: readonly CounterSeries[];
}

const MARGIN: CssPixels = 3;

/** The top of the lane: a round number above all visible values. */
export function topOf(picture: CounterPicture, scale: TimeScale): number {
  let most = picture.threshold ?? 0;
  for (const { t, max } of [...picture.series, ...(picture.ghosts ?? [])]) {
    const end = Math.min(lowerBound(t, scale.window.to) + 1, t.length);
    for (let row = Math.max(lowerBound(t, scale.window.from) - 1, 0); row < end; row += 1) {
      if (max[row] > most) most = max[row];
    }
  }
  return niceTop(most);
}

export function drawCounters(
  context: CanvasRenderingContext2D,
  picture: CounterPicture,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
): void {
  const top = topOf(picture, scale);
  const y = (value: number): CssPixels => height - 1 - (Math.min(value, top) / top) * (height - 1 - MARGIN);
  drawGrid(context, [y(top), y(top / 2)], scale.width, palette);
  if (picture.threshold !== null && picture.threshold > 0)
    drawThreshold(context, y(picture.threshold), scale.width, palette);
  context.setLineDash([3, 3]);
  for (const ghost of picture.ghosts ?? []) drawLine(context, ghost, scale, y, palette.muted, picture.isRate);
  context.setLineDash([]);
  picture.series.forEach((series, index) => {
    const [line, area] = coloursOf(picture, index, palette);
    drawRange(context, series, scale, y, area, picture.isRate);
    drawLine(context, series, scale, y, line, picture.isRate);
  });
}

/** Lines at the top, whose value is in the label, and at half height. */
export function drawGrid(
  context: CanvasRenderingContext2D,
  heights: readonly CssPixels[],
  width: CssPixels,
  palette: Palette,
): void {
  context.fillStyle = palette.grid;
  for (const at of heights) context.fillRect(0, Math.round(at), width, 1);
}

function coloursOf(picture: CounterPicture, index: number, palette: Palette): [line: string, area: string] {
  if (picture.pain) return [palette.pain, palette.painArea];
  if (picture.series.length === 1) return [palette.line, palette.area];
  const colour = palette.categories[index % palette.categories.length];
  return [css(colour, palette, palette.dark ? 14 : 0), css(colour, palette, 0, 0.16)];
}

function drawThreshold(context: CanvasRenderingContext2D, y: CssPixels, width: CssPixels, palette: Palette): void {
  context.strokeStyle = palette.pain;
  context.globalAlpha = 0.55;
  context.setLineDash([4, 4]);
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, Math.round(y) + 0.5);
  context.lineTo(width, Math.round(y) + 0.5);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** The visible rows, and one more on each side. */
function visible({ t }: CounterSeries, scale: TimeScale): [first: number, end: number] {
  return [Math.max(lowerBound(t, scale.window.from) - 1, 0), Math.min(lowerBound(t, scale.window.to) + 1, t.length)];
}

function drawRange(
  context: CanvasRenderingContext2D,
  series: CounterSeries,
  scale: TimeScale,
  y: (value: number) => CssPixels,
  fill: string,
  isRate: boolean,
): void {
  const [first, end] = visible(series, scale);
  context.fillStyle = fill;
  for (let row = first; row < end; row += 1) {
    const [from, to] = reach(series, row, isRate);
    const [left, right] = [scale.x(from), scale.x(to)];
    const high = y(series.max[row]);
    context.fillRect(left, high, Math.max(right - left, 1), y(0) - high);
  }
}

/** The time that a row's value describes. */
function reach({ t }: CounterSeries, row: number, isRate: boolean): [from: number, to: number] {
  if (isRate) return [row > 0 ? t[row - 1] : t[row], t[row]];
  return [t[row], row + 1 < t.length ? t[row + 1] : t[row]];
}

function drawLine(
  context: CanvasRenderingContext2D,
  series: CounterSeries,
  scale: TimeScale,
  y: (value: number) => CssPixels,
  colour: string,
  isRate: boolean,
): void {
  const [first, end] = visible(series, scale);
  context.strokeStyle = colour;
  context.lineWidth = 1.25;
  context.lineJoin = "round";
  context.beginPath();
  for (let row = first; row < end; row += 1) {
    const [from, to] = reach(series, row, isRate);
    const high = y(series.last[row]);
    if (row === first) context.moveTo(scale.x(from), high);
    context.lineTo(scale.x(from), high);
    context.lineTo(scale.x(to), high);
    if (series.max[row] - series.min[row] > 0) {
      const middle = scale.x((from + to) / 2);
      context.moveTo(middle, y(series.max[row]));
      context.lineTo(middle, y(series.min[row]));
      context.moveTo(scale.x(to), high);
    }
  }
  context.stroke();
}

/** The value at an instant; `null` before the first. */
export function valueAt(series: CounterSeries, at: number, isRate: boolean): number | null {
  const next = lowerBound(series.t, at);
  if (isRate) return next < series.t.length && next > 0 ? series.last[next] : null;
  const row = series.t[next] === at ? next : next - 1;
  return row >= 0 ? series.last[row] : null;
}
