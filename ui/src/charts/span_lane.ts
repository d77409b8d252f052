// Spans (with a beginning and an end): one row per kind, coloured by name, the most frequent names first.

import type { CssPixels, Nanoseconds } from "../base/quantities.ts";
import type { SpanMarks } from "../data/source.ts";
import { css, type Hsl, type Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

export interface SpanPicture {
  marks: SpanMarks;
  kinds: readonly string[];
  /** The names in the order of their colours. */
  names: readonly string[];
  /** The longest span of the whole recording. */
  longest: Nanoseconds;
}

/** The width of narrower marks, and of several drawn as one, does not show their duration: their height does. */
const NARROW: CssPixels = 2;
const LEAST_HEIGHT = 0.3;

/** The longest span of all. */
export function longestOf(marks: SpanMarks): Nanoseconds {
  return marks.longest.reduce((most, one) => Math.max(most, one), 0);
}

/** The height of a mark as a part of its row's height. */
export function heightOf(marks: SpanMarks, index: number, width: CssPixels, longest: Nanoseconds): number {
  if ((width >= NARROW && marks.merged[index] === 1) || !(longest > 0)) return 1;
  return LEAST_HEIGHT + (1 - LEAST_HEIGHT) * Math.sqrt(Math.min(marks.longest[index] / longest, 1));
}

/** Colours are assigned by the time that each name has in the whole recording. */
export function namesByTime(marks: SpanMarks): string[] {
  const time = new Map<string, number>();
  marks.name.forEach((name, row) => {
    time.set(name, (time.get(name) ?? 0) + marks.duration[row] + 1);
  });
  return [...time.entries()].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

/** The kinds of the lane that occur, in the lane's order. */
export function rowsOf(marks: SpanMarks, kinds: readonly string[]): string[] {
  const present = new Set(marks.kind);
  return kinds.filter((kind) => present.has(kind));
}

export function colourOf(name: string, names: readonly string[], palette: Palette): Hsl {
  // With so many names that colours would repeat, they are methods, files and the like: colours do not help there.
  const index = names.length > palette.categories.length ? 0 : names.indexOf(name);
  return palette.categories[Math.max(index, 0) % palette.categories.length];
}

export function drawSpans(
  context: CanvasRenderingContext2D,
  { marks, kinds, names, longest }: SpanPicture,
  scale: TimeScale,
  height: CssPixels,
  palette: Palette,
): void {
  const rowHeight = height / Math.max(kinds.length, 1);
  const row = new Map(kinds.map((kind, index) => [kind, index]));
  const colours = new Map(
    names.map((name) => [name, css(colourOf(name, names, palette), palette, palette.dark ? 8 : 0, 0.85)]),
  );
  for (let index = 0; index < marks.t.length; index += 1) {
    const [left, right] = [scale.x(marks.t[index]), scale.x(marks.t[index] + marks.duration[index])];
    const at = row.get(marks.kind[index]);
    if (right < -1 || left > scale.width || at === undefined) continue;
    // Many short touching spans are paler than a long one, so that a stall stands out.
    context.globalAlpha = marks.merged[index] > 1 ? 0.55 : 1;
    context.fillStyle = colours.get(marks.name[index]) ?? palette.accent;
    const begin = Math.max(left, -1);
    const high = (rowHeight - 3) * heightOf(marks, index, right - left, longest);
    const bottom = (at + 1) * rowHeight - 1;
    context.fillRect(begin, bottom - high, Math.max(Math.min(right, scale.width + 1) - begin, 1.5), high);
  }
  context.globalAlpha = 1;
}

/** The mark under the pointer, or the nearest within a few pixels. */
export function markAt(picture: SpanPicture, scale: TimeScale, x: CssPixels, y: CssPixels, height: CssPixels): number {
  const kind = picture.kinds[Math.floor((y / height) * picture.kinds.length)];
  const at = scale.time(x);
  const near: Nanoseconds = scale.perPixel * 3;
  let best = -1;
  let distance = Number.POSITIVE_INFINITY;
  for (let index = 0; index < picture.marks.t.length; index += 1) {
    if (picture.marks.kind[index] !== kind) continue;
    const begin = picture.marks.t[index];
    const gap = Math.max(begin - at, at - begin - picture.marks.duration[index], 0);
    if (gap <= near && gap < distance) {
      best = index;
      distance = gap;
    }
  }
  return best;
}
