import { expect, test } from "vitest";
import { around, coverFor, mainStretch, moved, nextTime, previousTime, stretched, within, zoomed } from "./window.ts";

const LIMITS = { from: 0, to: 1_000_000 };

test("zooming leaves the pointed time where it is", () => {
  const near = zoomed({ from: 0, to: 1_000_000 }, 250_000, 0.5, LIMITS);
  expect(near).toEqual({ from: 125_000, to: 625_000 });
  expect((250_000 - near.from) / (near.to - near.from)).toBe(0.25);
});

test.each([
  ["not closer than a microsecond", zoomed({ from: 500, to: 1_500 }, 1_000, 0.01, LIMITS), { from: 500, to: 1_500 }],
  ["not farther than all", zoomed({ from: 100, to: 900_000 }, 5, 100, LIMITS), LIMITS],
  ["not beyond the end", moved({ from: 900_000, to: 950_000 }, 200_000, LIMITS), { from: 950_000, to: 1_000_000 }],
  ["not beyond the beginning", moved({ from: 10_000, to: 50_000 }, -90_000, LIMITS), { from: 0, to: 40_000 }],
  ["with room", around({ from: 400_000, to: 500_000 }, LIMITS, 0.5), { from: 350_000, to: 550_000 }],
  ["a window larger than all", within({ from: -5, to: 9_000_000 }, LIMITS), LIMITS],
])("%s", (_, window, expected) => {
  expect(window).toEqual(expected);
});

test("slow times are walked in their order, whatever order they are told in", () => {
  const [first, second, third] = [
    { from: 10, to: 20 },
    { from: 30, to: 40 },
    { from: 50, to: 60 },
  ];
  const times = [third, first, second];
  expect(nextTime(times, null, 5)).toBe(first);
  expect(nextTime(times, first, 55)).toBe(second);
  expect(nextTime(times, third, 0)).toBeNull();
  expect(previousTime(times, null, 45)).toBe(second);
  expect(previousTime(times, second, 0)).toBe(first);
  expect(previousTime(times, first, 99)).toBeNull();
});

test.each([
  ["grows", { from: 10, to: 20 }, 5, { from: 10, to: 25 }],
  ["shrinks", { from: 10, to: 20 }, -5, { from: 10, to: 15 }],
  ["is gone", { from: 10, to: 20 }, -10, null],
  ["begins at an instant", { from: 10, to: 10 }, 5, { from: 10, to: 15 }],
  ["begins before an instant", { from: 10, to: 10 }, -5, { from: 5, to: 10 }],
  ["ends with the recording", { from: 10, to: 999_990 }, 50, { from: 10, to: 1_000_000 }],
  ["nothing at the end", { from: 1_000_000, to: 1_000_000 }, 50, null],
])("a picked time %s", (_, time, by, expected) => {
  expect(stretched(time, by, LIMITS)).toEqual(expected);
});

test("one question serves a window and its neighbours", () => {
  const asked = coverFor({ from: 300_000, to: 400_000 }, LIMITS);
  expect(asked.from).toBeLessThanOrEqual(250_000);
  expect(asked.to).toBeGreaterThanOrEqual(450_000);
  expect(asked.to - asked.from).toBeLessThanOrEqual(500_000);
  expect(coverFor({ from: 310_000, to: 410_000 }, LIMITS)).toEqual(coverFor({ from: 305_000, to: 405_000 }, LIMITS));
});

test.each([
  [[], null],
  [[[5, 9]], [5, 9]],
  [
    [
      [0, 4],
      [5, 9],
    ],
    [0, 9],
  ],
  [
    [
      [0, 4],
      [90, 97],
      [99, 100],
    ],
    [90, 97],
  ],
])("the main stretch of %j is %j", (intervals, expected) => {
  const found = mainStretch(intervals.map(([from, to]) => ({ from, to })));
  expect(found && [found.from, found.to]).toEqual(expected);
});
