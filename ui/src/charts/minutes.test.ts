import { expect, test } from "vitest";
import type { WatchedMinute } from "../data/watched.ts";
import { barsOf, MINUTES } from "./minutes.ts";

function minute(at: number, p95_ms: number | null, triggers: string | null = null): WatchedMinute {
  return {
    at,
    p95_ms,
    max_ms: p95_ms,
    triggers,
    requests: null,
    seconds: 60,
    stop_ms: null,
    incident: null,
  };
}

test("minutes stand where they were, as high as they were slow", () => {
  const minutes = [minute(0, 0.1), minute(1, null), minute(30, 3.2), minute(60, 1024)];
  const bars = barsOf(minutes, 102.4, 2 * MINUTES, 40);
  expect(bars.map(({ at, x }) => [at, x])).toEqual([
    [0, 0],
    [30, 60],
    [60, 120],
  ]);
  expect(bars.map(({ height }) => Math.round(height))).toEqual([1, 20, 40]);
  expect(bars.every(({ x, width }) => x + width <= 2 * MINUTES)).toBe(true);
});

test("a minute without requests shows that there was a reason to record", () => {
  expect(barsOf([minute(5, null, "stop")], 0, 61, 40)).toMatchObject([{ at: 5, isIll: true, height: 1 }]);
});
