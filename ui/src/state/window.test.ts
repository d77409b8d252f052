import { expect, test } from "vitest";
import { around, coverFor, mainStretch, moved, within, zoomed } from "./window.ts";

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
