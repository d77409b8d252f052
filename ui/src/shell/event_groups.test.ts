import { expect, test } from "vitest";
import type { SampleEvent } from "../data/overview.ts";
import { eventGroups } from "./event_groups.ts";

function event(id: string, title: string, on_cpu: boolean): SampleEvent {
  return { id, title, unit: "samples", samples: 1200, on_cpu };
}

test("events stand in groups, and groups without events do not", () => {
  const groups = eventGroups([event("spans/gc_pause", "GC pause", false), event("cpu", "CPU", true)]);
  expect(groups.map(({ title }) => title)).toEqual(["running, or seen so", "spans"]);
  expect(eventGroups([])).toEqual([]);
});

test("only what is of threads on a CPU says so, and nothing is off it", () => {
  const texts = eventGroups([
    event("cpu", "CPU", true),
    event("java_execution", "Java execution", true),
    event("allocation", "allocation", false),
    event("waits/lock", "waiting for locks", false),
  ]).flatMap(({ choices }) => choices.map(([, text]) => text));
  expect(texts).toEqual([
    "CPU (1,200)",
    "Java execution (on CPU, 1,200)",
    "allocation (1,200)",
    "waiting for locks (1,200)",
  ]);
});
