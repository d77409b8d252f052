import { expect, test } from "vitest";
import type { Latencies, Run, Runs } from "../../data/runs.ts";
import { figuresOf, lostOf, lostPer, missingText, programsOf, runText } from "./figures.ts";

const LATENCIES: Latencies = { count: 100, p50_ns: 5.12e6, p99_ns: 9.9e6, mean_ns: 5.36e6 };

function run(more: Partial<Run> = {}): Run {
  const times = { from_ns: 0, length_ns: 20e9, stopped: 0.005, lost_ns: 8.9e9 };
  return { name: "01.fathom", title: "shop.Main", ...times, latencies: LATENCIES, ...more };
}

const SERIES: Runs = {
  runs: [run(), run({ name: "02.fathom" })],
  recordings: [7, 3],
  marks: [],
  changes: [],
  false_alarms: 0.05,
  lost: [
    { id: "lock_contention", name: "Lock contention", ns: [0, 1.88e6] },
    { id: "disk_slow", name: "Slow disk", ns: [0, 2.5e6] },
  ],
  unread: 0,
  unreadable: 0,
  left_out: 0,
};

test("latency where any run has it, else the time stopped and lost", () => {
  expect(figuresOf(run(), true)).toEqual([
    ["p50", "5.12 ms"],
    ["p99", "9.9 ms"],
    ["mean", "5.36 ms"],
  ]);
  expect(figuresOf(run({ latencies: null }), true).map(([, text]) => text)).toEqual(["–", "–", "–"]);
  expect(figuresOf(run({ latencies: null }), false)).toEqual([
    ["stopped", "0.5 %"],
    ["lost", "0.445 threads"],
  ]);
  expect(figuresOf(run({ length_ns: 0 }), false).map(([, text]) => text)).toEqual(["–", "–"]);
});

test("causes of a run by the time that they lost, without those that lost none", () => {
  expect(lostOf(SERIES, 0)).toEqual([]);
  expect(lostOf(SERIES, 1).map(({ id }) => id)).toEqual(["disk_slow", "lock_contention"]);
});

test("lost time names what it is divided by", () => {
  expect(lostPer([run()])).toBe("request");
  expect(lostPer([run({ latencies: null })])).toBe("second");
  expect(lostPer([run({ latencies: null }), run()])).toBe("request or second");
});

test("several programs in one folder are named", () => {
  expect(programsOf(SERIES.runs)).toEqual([]);
  expect(programsOf([run(), run({ title: "" })])).toEqual([]);
  expect(programsOf([run(), run({ title: "search.Main" })])).toEqual(["shop.Main", "search.Main"]);
});

test("what is missing is said", () => {
  expect(missingText(SERIES)).toBe("");
  expect(missingText({ ...SERIES, unread: 3, unreadable: 1, left_out: 4 })).toBe(
    "7 of 10 recordings were read so far, so marks may still change; 1 cannot be read; 4 older ones are left out",
  );
});

test("a run in words", () => {
  expect(runText(SERIES, 1)).toBe(
    "run 2 of 2, 02.fathom, p50 5.12 ms, p99 9.9 ms, mean 5.36 ms, Slow disk 2.5 ms, Lock contention 1.88 ms",
  );
});
