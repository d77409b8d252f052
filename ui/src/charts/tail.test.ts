import { expect, test } from "vitest";
import type { Latency } from "../data/source.ts";
import { lengthAt, tailOf } from "./tail.ts";

const NONE = new Float64Array();
/** 90 requests of 1 to 2 ns, 9 of 4 to 8 ns in two columns, one of 1,024 ns. */
const LATENCY: Latency = {
  from: 0,
  to: 1,
  columns: 2,
  column: Int32Array.of(0, 0, 1, 1),
  step: Int32Array.of(0, 8, 8, 40),
  count: Float32Array.of(90, 4, 5, 1),
  stepsPerDoubling: 4,
  lines: { t: NONE, length: 1, count: NONE, p50: NONE, p99: NONE, max: NONE },
};

test("each length has the part of the requests that took at least so long", () => {
  const tail = tailOf(LATENCY);
  expect([...tail.length]).toEqual([1, 4, 1024]);
  expect([...tail.part]).toEqual([1, 0.1, 0.01]);
  expect(tail.requests).toBe(100);
  expect(tailOf({ ...LATENCY, step: new Int32Array(), count: new Float32Array() }).requests).toBe(0);
});

test("quantiles of which there are too few requests are none", () => {
  const tail = tailOf(LATENCY);
  expect([1, 0.5, 0.1, 0.01, 0.001].map((above) => lengthAt(tail, above))).toEqual([1, 1, 4, 1024, null]);
});
