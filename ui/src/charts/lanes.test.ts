import { describe, expect, test } from "vitest";
import type { CounterSeries, SpanMarks } from "../data/source.ts";
import { topOf, valueAt } from "./counter_lane.ts";
import { drawHeatRow, stackOfRole, strengthOf } from "./heat_lane.ts";
import { LengthScale, lengthsBetween, lineAt } from "./latency_lane.ts";
import { paletteFor } from "./palette.ts";
import { TimeScale } from "./scale.ts";
import { heightOf, longestOf, markAt, namesByTime, rowsOf } from "./span_lane.ts";
import { stack, topOfStack } from "./stacked_lane.ts";

/** A counter that is read at each of these times. */
function series(...rows: readonly (readonly [t: number, value: number])[]): CounterSeries {
  const values = Float64Array.from(rows, ([, value]) => value);
  return { t: Float64Array.from(rows, ([t]) => t), min: values, max: values, last: values };
}

describe("the value of a counter", () => {
  const counter = series([10, 1], [20, 5], [30, 3]);
  test.each([
    [5, null, null],
    [10, 1, null],
    [15, 1, 5],
    [20, 5, 5],
    [25, 5, 3],
    [35, 3, null],
  ])("at %d is %j; as a rate, which stands for the time before its row, %j", (at, value, rate) => {
    expect(valueAt(counter, at, false)).toBe(value);
    expect(valueAt(counter, at, true)).toBe(rate);
  });

  test("the lane's top is above everything in sight, and above the threshold", () => {
    const picture = { series: [counter], isRate: false, pain: false, threshold: null };
    expect(topOf(picture, new TimeScale({ from: 0, to: 40 }, 100))).toBe(5);
    expect(topOf(picture, new TimeScale({ from: 29, to: 40 }, 100))).toBe(5);
    expect(topOf({ ...picture, threshold: 7.5 }, new TimeScale({ from: 0, to: 40 }, 100))).toBe(8);
  });
});

test("parts of a whole stand on top of each other", () => {
  const tops = stack([series([0, 1], [10, 2]), series([0, 3], [10, 0])], new TimeScale({ from: 0, to: 20 }, 4), false);
  expect(tops.map((top) => [...top])).toEqual([
    [1, 2],
    [4, 2],
  ]);
  expect(topOfStack(tops)).toBe(4);
});

test("the states of a role stand on top of each other", () => {
  const heat = {
    columns: 3,
    role: Int32Array.of(0, 1, 1, 1),
    column: Int32Array.of(0, 0, 2, 2),
    value: Float32Array.of(1, 0.5, 9, 1),
    state: Uint8Array.of(3, 7, 7, 2),
    full: 1,
  };
  expect(stackOfRole(heat, 1)).toEqual({
    states: [2, 7],
    tops: [Float64Array.of(0, 0, 1), Float64Array.of(0.5, 0, 10)],
    most: 10,
  });
  expect(stackOfRole(heat, -1)).toEqual({ states: [], tops: [], most: 0 });
});

describe("how long requests took", () => {
  const lines = {
    t: Float64Array.of(0, 1_000, 5_000),
    length: 1_000,
    count: Float64Array.of(1, 2, 3),
    p50: Float64Array.of(1, 1, 1),
    p99: Float64Array.of(2, 2, 2),
    max: Float64Array.of(3, 3, 3),
  };
  const latency = {
    from: 0,
    to: 6_000,
    columns: 6,
    column: Int32Array.of(0, 5),
    step: Int32Array.of(40, 78),
    count: Float32Array.of(1, 1),
    stepsPerDoubling: 4,
    lines,
  };
  test("is drawn by its logarithm", () => {
    const lengths = new LengthScale(latency, 104);
    expect([lengths.shortest, lengths.longest]).toEqual([1_024, 1_048_576]);
    expect(lengths.y(1_024)).toBe(103);
    expect(lengths.y(1_048_576)).toBe(3);
    expect(lengths.y(32_768)).toBeCloseTo(53);
    expect(lengths.length(53)).toBeCloseTo(32_768);
    expect(lengths.ticks()).toEqual([10_000, 100_000, 1_000_000]);
    expect(lengthsBetween(lengths, 53, 500)).toEqual({ from: 1_024, to: 32_768 });
  });
  test.each([
    [-1, -1],
    [0, 0],
    [1_999, 1],
    [2_000, -1],
    [5_500, 2],
    [9_000, -1],
  ])("at %d it is that of part %d", (at, row) => expect(lineAt(lines, at)).toBe(row));
});

test("even a little is seen", () => {
  expect(strengthOf(0, 1)).toBe(0);
  expect(strengthOf(0.01, 1)).toBeGreaterThan(0.15);
  expect(strengthOf(5, 1)).toBe(1);
});

describe("spans", () => {
  const marks: SpanMarks = {
    t: Float64Array.of(0, 50, 60),
    duration: Float64Array.of(10, 1, 30),
    thread: Int32Array.of(-1, -1, -1),
    kind: ["gc_pause", "gc_pause", "safepoint"],
    name: ["young", "full", "other"],
    merged: Float64Array.of(1, 1, 1),
    longest: Float64Array.of(10, 1, 30),
  };
  test("a narrow mark is as high as its longest span is long, a wide one fills its row", () => {
    const short = { ...marks, merged: Float64Array.of(1, 1, 4), longest: Float64Array.of(10, 2.5, 0) };
    expect(longestOf(short)).toBe(10);
    const heights = [0, 1, 2].map((index) => heightOf(short, index, 0.1, 10));
    [1, 0.65, 0.3].forEach((expected, index) => {
      expect(heights[index]).toBeCloseTo(expected);
    });
    expect(heightOf(short, 1, 5, 10)).toBe(1);
    expect(heightOf(short, 2, 5, 10)).toBeCloseTo(0.3);
    expect(heightOf(short, 0, 0.1, 0)).toBe(1);
  });
  test("kinds and names as they occur", () => {
    expect(rowsOf(marks, ["safepoint", "gc_phase", "gc_pause"])).toEqual(["safepoint", "gc_pause"]);
    expect(namesByTime(marks)).toEqual(["other", "young", "full"]);
  });
  test.each([
    [5, 5, 0],
    [12, 5, 0],
    [20, 5, -1],
    [51, 5, 1],
    [70, 5, -1],
    [70, 15, 2],
  ])("under the pointer at %d, %d is mark %d", (x, y, mark) => {
    const picture = { marks, kinds: ["gc_pause", "safepoint"], names: [], longest: 30 };
    expect(markAt(picture, new TimeScale({ from: 0, to: 100 }, 100), x, y, 20)).toBe(mark);
  });
});

test("a cell of which little is known has no colour; the hatching shows through one of which half is", () => {
  const drawn: [left: number, alpha: number, fill: string][] = [];
  const context = {
    globalAlpha: 1,
    fillStyle: "",
    fillRect(left: number) {
      drawn.push([left, this.globalAlpha, this.fillStyle]);
    },
  };
  const heat = {
    columns: 3,
    thread: Int32Array.of(0, 0, 0),
    column: Int32Array.of(0, 1, 2),
    value: Float32Array.of(0.05, 0.5, 1),
    state: Uint8Array.of(0, 0, 0),
    known: Float32Array.of(0.05, 0.5, 1),
    full: 1,
  };
  const palette = paletteFor(false, false);
  const picture = { heat, time: { from: 0, to: 30 }, colours: [palette.states.java] };
  const scale = new TimeScale({ from: 0, to: 30 }, 30);
  drawHeatRow(
    context as unknown as CanvasRenderingContext2D,
    picture,
    [0, 1, 2],
    scale,
    { top: 0, height: 10 },
    palette,
  );
  expect(drawn.map(([left, alpha]) => [left, alpha])).toEqual([
    [10, 0.5],
    [10, 1],
    [20, 1],
    [20, 1],
  ]);
  expect(drawn[0][2]).toBe(palette.surface);
  expect(context.globalAlpha).toBe(1);
});
