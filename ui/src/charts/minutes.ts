// An hour of latency as bars, one for each minute. Pure.

import type { CssPixels } from "../base/quantities.ts";
import type { WatchedMinute } from "../data/watched.ts";

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

/** Lengths below this are drawn as this. */
const SHORTEST_MS = 0.1;

/** Bars on a logarithmic scale up to `longest_ms`, so that usual minutes can be seen beside bad ones. */
export function barsOf(
  minutes: readonly WatchedMinute[],
  longest_ms: number,
  width: CssPixels,
  height: CssPixels,
): Bar[] {
  const step = width / MINUTES;
  const doublings = Math.max(1, Math.log2(longest_ms / SHORTEST_MS));
  const up = (ms: number): CssPixels =>
    Math.min(height, Math.max(1, (Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / doublings) * height));
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
