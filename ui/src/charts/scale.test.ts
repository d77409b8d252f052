import { expect, test } from "vitest";
import { niceTop, stepFor, TimeScale, ticks } from "./scale.ts";

test.each([
  [40e9, 800, 5e9],
  [3600e9, 800, 600e9],
  [1e6, 1_000, 1e5],
  [7 * 86400e9, 700, 86400e9],
])("a window of %d ns on %d pixels has a mark every %d ns", (length, width, step) => {
  expect(stepFor(new TimeScale({ from: 0, to: length }, width), 70)).toBe(step);
});

test("marks stand on full steps of the clock", () => {
  // The axis begins at 4 s past a full minute.
  expect(ticks({ from: 0, to: 20e9 }, 5e9, 4e9)).toEqual([1e9, 6e9, 11e9, 16e9]);
  expect(ticks({ from: 0, to: 1e30 }, 1, 0)).toHaveLength(1_000);
});

test.each([
  [0, 1],
  [0.94, 1],
  [1.3, 1.5],
  [5.72e6, 6e6],
  [100, 100],
  [Number.NaN, 1],
])("a lane with %d in it ends at %d", (value, top) => {
  expect(niceTop(value)).toBeCloseTo(top, 9);
});
