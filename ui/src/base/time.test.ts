import { expect, test } from "vitest";
import { day, decimalsFor, originOf, sinceMidnight, timeOfDay } from "./time.ts";

const ORIGIN = originOf("1795175344000000000");

test.each([
  [0, 0, "11:49:04"],
  [1_500_000_000, 0, "11:49:05"],
  [1_500_000_000, 3, "11:49:05.500"],
  [-1, 9, "11:49:03.999999999"],
  [1_234_567, 6, "11:49:04.001234"],
  [12 * 3600e9, 0, "23:49:04"],
])("%d ns after the origin, with %d decimals, is %s", (at, decimals, text) => {
  expect(timeOfDay(ORIGIN, at, "utc", decimals)).toBe(text);
});

test("days", () => {
  expect(day(ORIGIN, 0, "utc")).toBe("2026-11-20");
  expect(day(ORIGIN, 13 * 3600e9, "utc")).toBe("2026-11-21");
  expect(sinceMidnight(ORIGIN, "utc")).toBe(((11 * 60 + 49) * 60 + 4) * 1e9);
});

test.each([
  [1e9, 0],
  [5e8, 1],
  [1e6, 3],
  [2e5, 4],
  [1e3, 6],
  [1, 9],
])("steps of %d ns are told apart by %d decimals", (step, decimals) => {
  expect(decimalsFor(step)).toBe(decimals);
});
