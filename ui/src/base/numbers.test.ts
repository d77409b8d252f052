import { describe, expect, test } from "vitest";
import { amount, change, duration, wholePercents } from "./numbers.ts";

// The same inputs and outputs as in crates/report, units.rs: page and terminal print the same figures.
describe("amounts", () => {
  const cases: readonly (readonly [number, string, string])[] = [
    [0, "ns", "0 ns"],
    [850, "ns", "850 ns"],
    [12_345, "ns", "12.3 µs"],
    [999_990, "ns", "1 ms"],
    [19_800_000, "ns", "19.8 ms"],
    [50e9, "ns", "50 s"],
    [200e9, "ns", "3 min 20 s"],
    [120e9, "ns", "2 min"],
    [7_500e9, "ns", "2 h 5 min"],
    [-1.5e6, "ns", "-1.5 ms"],
    [512, "bytes", "512 bytes"],
    [5_242_880, "bytes", "5 MB"],
    [3.5e9, "bytes/s", "3.26 GB/s"],
    [1_234_567, "count", "1,234,567"],
    [9, "1/s", "9 /s"],
    [239_662_752, "ns/s", "240 ms/s"],
    [0.44, "ratio", "44 %"],
    [0.032, "ratio", "3.2 %"],
    [0.0001, "ratio", "<0.1 %"],
    [12.5, "ratio", "1,250 %"],
    [1, "cores", "1 core"],
    [0.444_44, "cores", "0.444 cores"],
    [3.9, "times", "3.9 ×"],
    [0.000_01, "times", "<0.001 ×"],
    [0.000_16, "threads", "<0.001 threads"],
    [0.999_8, "threads", "1 thread"],
    [1.01, "cores", "1.01 cores"],
    [0.000_28, "1/s", "2.8e-4 /s"],
    [7, "furlongs", "7 furlongs"],
    [Number.NaN, "ns", "unknown"],
    [Number.POSITIVE_INFINITY, "bytes", "unknown"],
    [1e300, "count", "1.00e300"],
    // Ties round to even, as in the terminal.
    [0.125, "count", "0.125"],
    [1.125, "count", "1.12"],
    [1.375, "count", "1.38"],
    [10.25, "count", "10.2"],
  ];
  test.each(cases)("%d %s is %s", (value, unit, text) => {
    expect(amount(value, unit)).toBe(text);
  });
});

test("changes name a common unit once", () => {
  expect(change(400_000, 19_800_000, "ns")).toBe("400 µs → 19.8 ms");
  expect(change(1_400_000, 19_800_000, "ns")).toBe("1.4 → 19.8 ms");
  expect(change(0.17, 1.04, "ratio")).toBe("17 → 104 %");
  expect(change(0, 9, "1/s")).toBe("0 → 9 /s");
});

test("lengths of time", () => {
  expect(duration(26e9)).toBe("26 s");
  expect(duration(-90e9)).toBe("-1 min 30 s");
});

test.each([
  [
    [0.71, 0.29],
    [71, 29],
  ],
  [
    [1 / 3, 1 / 3, 1 / 3],
    [34, 33, 33],
  ],
  [
    [0.005, 0.995],
    [1, 99],
  ],
  [
    [0, 0],
    [0, 0],
  ],
  [[], []],
  [
    [Number.NaN, 1],
    [0, 100],
  ],
  [
    [-1, 7],
    [0, 100],
  ],
])("printed percents of %j add up", (shares, percents) => {
  expect(wholePercents(shares)).toEqual(percents);
});
