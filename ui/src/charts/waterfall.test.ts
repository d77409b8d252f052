import { expect, test } from "vitest";
import type { Heat, SpanRow } from "../data/source.ts";
import { barsOf, partsOf, phasesOf } from "./waterfall.ts";

const HEAT: Heat = {
  columns: 4,
  thread: Int32Array.of(1, 1, 1, 2),
  column: Int32Array.of(0, 1, 2, 0),
  value: Float32Array.of(1, 0.5, 1, 1),
  state: Uint8Array.of(4, 7, 4, 9),
  full: 1,
};

function row(t: number, duration: number): SpanRow {
  return { t, duration, thread: 1, kind: "park", name: "", stack: 0, kernelStack: 0, detail: "" };
}

test("the states of the thread have parts of the request", () => {
  expect(partsOf(HEAT, 1)).toEqual([
    { state: 4, part: 0.5 },
    { state: 7, part: 0.125 },
  ]);
  expect(partsOf(HEAT, 3)).toEqual([]);
});

test("what reaches over the request is cut to it, and what is too short is counted", () => {
  const request = { from: 1_000, to: 2_000 };
  const { bars, hidden } = barsOf([row(1_500, 100), row(0, 1_200), row(1_700, 1), row(5_000, 10)], request);
  expect(bars.map(({ left, width }) => [left, width])).toEqual([
    [0, 0.2],
    [0.5, 0.1],
  ]);
  expect(hidden).toBe(2);
  expect(
    barsOf(
      Array.from({ length: 60 }, (_, index) => row(1_000 + index, 50)),
      request,
    ).bars,
  ).toHaveLength(24);
});

test.each([
  ["", {}],
  ["no json", {}],
  ['{"unread_ns":5,"first_byte_ns":70,"reader_tid":12}', { unread: 5, firstByte: 70, reader: 12 }],
  ['{"unsent_ns":9,"unsent_for":"window"}', { unsent: 9, unsentFor: "window" }],
  ['{"unsent_ns":"9","unsent_for":9}', {}],
])("the phases of %s", (detail, told) => {
  const nothing = { unread: null, firstByte: null, unsent: null, unsentFor: "", reader: null };
  expect(phasesOf(detail)).toEqual({ ...nothing, ...told });
});
