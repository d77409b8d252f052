import { expect, test } from "vitest";
import type { WatchedJvm, WatchedMinute } from "../data/watched.ts";
import { barsOf, byTrouble, linesOf, MINUTES } from "./minutes.ts";

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

test("the scale has lines at powers of ten, as far apart as their labels need", () => {
  const lines = linesOf(1_000, 40, 12);
  expect(lines.map(({ ms }) => ms)).toEqual([10, 1_000]);
  expect(lines.map(({ y }) => Math.round(y))).toEqual([20, 0]);
  expect(linesOf(0, 40, 12)).toEqual([]);
});

test("JVMs in trouble come first: by minutes with a reason to record, then by how long requests took", () => {
  const jvm = (service: string, minutes: WatchedMinute[]): WatchedJvm => ({
    service,
    pid: 1,
    java: "",
    collector: "",
    container: null,
    minutes,
  });
  const quiet = jvm("quiet", [minute(0, 2), minute(1, 3)]);
  const slow = jvm("slow", [minute(0, 2), minute(1, 80)]);
  const ill = jvm("ill", [minute(0, 1, "latency"), minute(1, 1)]);
  const worse = jvm("worse", [minute(0, 1, "latency"), minute(1, 1, "stop")]);
  const names = byTrouble([quiet, ill, slow, worse]).map(({ service }) => service);
  expect(names).toEqual(["worse", "ill", "slow", "quiet"]);
});
