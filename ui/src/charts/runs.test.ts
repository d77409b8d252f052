import { describe, expect, test } from "vitest";
import type { LostTime, Run } from "../data/runs.ts";
import { heightAt, heightOf, linear, logarithmic, marksOf, measuredOf, partsOf, runAt, slotOf } from "./runs.ts";

function run(p50_ns: number | null): Run {
  const latencies = p50_ns === null ? null : { count: 100, p50_ns, p99_ns: 2 * p50_ns, mean_ns: p50_ns };
  return { name: "", title: "", from_ns: 0, length_ns: 1e9, latencies, stopped: 0.25, lost_ns: 0 };
}

test("latency is drawn as far as it is known; without any, the time stopped", () => {
  const measures = measuredOf([run(5), run(null), run(7)]);
  expect(measures.map(({ title, values }) => [title, values])).toEqual([
    ["p50", [5, null, 7]],
    ["p99", [10, null, 14]],
  ]);
  expect(measuredOf([run(null)])).toEqual([{ title: "time stopped", unit: "ratio", values: [0.25] }]);
});

test("the largest causes have a colour each, the others are one part, and nothing is lost", () => {
  const lost = (count: number): LostTime[] =>
    Array.from({ length: count }, (_, place) => ({ id: `c${place}`, name: `cause ${place}`, ns: [place, 1] }));
  expect(partsOf([])).toEqual([]);
  expect(partsOf(lost(5)).map(({ colour }) => colour)).toEqual([0, 1, 2, 3, 4]);
  expect(partsOf(lost(6)).at(-1)).toEqual({ title: "cause 5", colour: -1, ns: [5, 1] });
  expect(partsOf(lost(8)).at(-1)).toEqual({ title: "3 others", colour: -1, ns: [5 + 6 + 7, 3] });
});

describe("a logarithmic scale", () => {
  test.each([
    ["values that hardly differ", [5e6, 5.1e6]],
    ["one value", [3e6]],
    ["three powers of ten", [1e5, 4e6, 9e7]],
    ["a zero among them", [0, 7e6]],
    ["none", []],
  ])("%s: all are inside, and there are round numbers", (_, values) => {
    const scale = logarithmic(values);
    for (const value of values.filter((one) => one > 0)) {
      expect(heightAt(scale, value)).toBeGreaterThan(0);
      expect(heightAt(scale, value)).toBeLessThan(1);
    }
    const marks = marksOf(scale);
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.length).toBeLessThan(8);
    expect(marks.every((mark) => mark >= scale.low && mark <= scale.high)).toBe(true);
  });

  test("the same factor has the same height everywhere", () => {
    const scale = logarithmic([1e6, 1e8]);
    const rise = (from: number): number => heightAt(scale, 2 * from) - heightAt(scale, from);
    expect(rise(1e6)).toBeCloseTo(rise(4e7));
  });
});

test("a linear scale goes from zero to a round number", () => {
  const scale = linear([0, 3.7e6]);
  expect(marksOf(scale)).toEqual([0, 2e6, 4e6]);
  expect([0, 2e6, 4e6].map((value) => heightAt(scale, value))).toEqual([0, 0.5, 1]);
  expect(heightAt(linear([0, 0]), 0)).toBe(0);
});

test.each([1, 2, 30, 100])("the pointer finds each of %i runs where it is drawn", (count) => {
  for (let run = 0; run < count; run += 1) {
    const { from, to } = slotOf(run, count, 800);
    expect([from + 0.01, (from + to) / 2, to - 0.01].map((x) => runAt(x, count, 800))).toEqual([run, run, run]);
  }
  expect([runAt(5, count, 800), runAt(900, count, 800)]).toEqual([null, null]);
});

test("without lost time there is no panel for it", () => {
  const [part] = partsOf([{ id: "a", name: "a", ns: [1] }]);
  expect(heightOf({ parts: [part] })).toBeGreaterThan(heightOf({ parts: [] }));
});
