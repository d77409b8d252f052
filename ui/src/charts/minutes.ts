// An hour of latency as bars, one per minute. Pure.

import type { CssPixels } from "../base/quantities.ts";
import type { WatchedJvm, WatchedMinute } from "../data/watched.ts";

export const MINUTES = 61;

export interface Bar {
  at: number;
  x: CssPixels;
  width: CssPixels;
  /** The 95th percentile; the longest request reaches up to `longest`. */
  height: CssPixels;
  longest: CssPixels;
  /** Whether there was a reason to record. */
  isIll: boolean;
}

/** Shorter durations are drawn as this one. */
const SHORTEST_MS = 0.1;

/** A line across the bars of an hour, and the duration that it marks. */
export interface Line {
  ms: number;
  y: CssPixels;
}

/** The height of a duration on a scale up to `longest_ms`. */
function heightOf(ms: number, longest_ms: number, height: CssPixels): CssPixels {
  const doublings = Math.max(1, Math.log2(longest_ms / SHORTEST_MS));
  return (Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / doublings) * height;
}

/** The powers of ten on the scale, without those that are too close together for their labels. */
export function linesOf(longest_ms: number, height: CssPixels, room: CssPixels): Line[] {
  const lines: Line[] = [];
  let last = height;
  for (let ms = 10 * SHORTEST_MS; ms <= longest_ms; ms *= 10) {
    const y = height - heightOf(ms, longest_ms, height);
    if (last - y < room) continue;
    lines.push({ ms, y });
    last = y;
  }
  return lines;
}

/** Sorts JVMs by the number of minutes with a reason to record, then by their longest request. */
export function byTrouble(jvms: readonly WatchedJvm[]): WatchedJvm[] {
  const worst = ({ minutes }: WatchedJvm): readonly number[] => [
    minutes.filter(({ triggers }) => triggers !== null).length,
    Math.max(0, ...minutes.map(({ p95_ms }) => p95_ms ?? 0)),
    Math.max(0, ...minutes.map(({ stop_ms }) => stop_ms ?? 0)),
  ];
  const known = jvms.map((jvm) => ({ jvm, worst: worst(jvm) }));
  const more = (a: readonly number[], b: readonly number[]): number =>
    a.map((one, place) => b[place] - one).find((difference) => difference !== 0) ?? 0;
  return known.sort((a, b) => more(a.worst, b.worst)).map(({ jvm }) => jvm);
}

/** Bars on a logarithmic scale up to `longest_ms`, so that normal minutes stay visible next to bad ones. */
export function barsOf(
  minutes: readonly WatchedMinute[],
  longest_ms: number,
  width: CssPixels,
  height: CssPixels,
): Bar[] {
  const step = width / MINUTES;
  const up = (ms: number): CssPixels => Math.min(height, Math.max(1, heightOf(ms, longest_ms, height)));
  return minutes
    .filter(({ p95_ms, triggers }) => p95_ms !== null || triggers !== null)
    .map(({ at, p95_ms, max_ms, triggers }) => ({
      at,
      x: at * step,
      width: Math.max(1, step - 1),
      height: up(p95_ms ?? SHORTEST_MS),
      longest: up(max_ms ?? p95_ms ?? SHORTEST_MS),
      isIll: triggers !== null,
    }));
}
