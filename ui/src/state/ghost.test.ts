import { expect, test } from "vitest";
import type { Overview } from "../data/overview.ts";
import { laidOn } from "./ghost.ts";

function recording(origin_s: number, from_s: number, slow_s: readonly number[]): Overview {
  const slow = slow_s.map((at) => ({ from_ns: (origin_s + at) * 1e9, to_ns: (origin_s + at + 5) * 1e9 }));
  return { origin_ns: `${origin_s}000000000`, from: from_s * 1e9, explanation: { slow } } as unknown as Overview;
}

test("two slow times begin together, else the recordings do", () => {
  const slow = recording(1_700_000_000, 1, [20]);
  expect(laidOn(slow, recording(1_800_000_000, 0, [45]))).toEqual({ shift: -25e9, isBySlowTime: true });
  expect(laidOn(slow, recording(1_800_000_000, 3, []))).toEqual({ shift: -2e9, isBySlowTime: false });
});
