import { expect, test } from "vitest";
import type { CounterSeries } from "../data/source.ts";
import { type FigurePicture, limitOf, linesOf, marksNear, peakOf } from "./figure_lane.ts";
import { sumOf } from "./found_lane.ts";
import { TimeScale } from "./scale.ts";
import { stack } from "./stacked_lane.ts";

function series(...rows: readonly (readonly [t: number, value: number])[]): CounterSeries {
  const values = Float64Array.from(rows, ([, value]) => value);
  return { t: Float64Array.from(rows, ([t]) => t), min: values, max: values, last: values };
}

const SCALE = new TimeScale({ from: 0, to: 100 }, 100);
const HEAP: FigurePicture = {
  series: [series([10, 8], [150, 90]), series([0, 2], [12, 3]), series([0, 10]), series([0, 5])],
  parts: ["before", "level", "limit", "limit"],
  marks: { t: Float64Array.of(10, 12, 40), kind: Uint8Array.of(1, 0, 0), kinds: 2 },
};

test("what there may be is the sum of all limits, as what there is stands on each other", () => {
  expect(limitOf(HEAP, SCALE)).toBe(15);
  expect(limitOf({ ...HEAP, parts: ["level", "level", "level", "level"] }, SCALE)).toBe(0);
});

test("the peak is in sight, also what there was just before it became less", () => {
  const tops = stack(linesOf(HEAP, "level", "stage"), SCALE, false);
  expect(peakOf(HEAP, SCALE, tops)).toBe(8);
  expect(peakOf({ ...HEAP, parts: ["drops", "level", "limit", "limit"] }, SCALE, tops)).toBe(3);
});

test("marks near the pointer", () => {
  expect(marksNear(HEAP.marks, 11, 2)).toEqual([0, 1]);
  expect(marksNear(HEAP.marks, 30, 2)).toEqual([]);
});

test("stacks that are meant are added up over all roles", () => {
  const heat = {
    columns: 3,
    role: Int32Array.of(0, 1, 1),
    column: Int32Array.of(0, 0, 2),
    value: Float32Array.of(1, 2, 4),
    state: new Uint8Array(3),
    full: 1,
  };
  expect([...sumOf(heat)]).toEqual([3, 0, 4]);
});
