import { expect, test } from "vitest";
import { KNOWN, LOOK } from "../../test/known.ts";
import type { Evidence, Look } from "../data/explanation.ts";
import type { Overview } from "../data/overview.ts";
import { shownBy } from "./evidence.ts";
import { DEFAULTS } from "./view_state.ts";

const NOW = { ...DEFAULTS, lanes: ["gc"] };

function item(table: string, of: string[] = [], stack = ""): Evidence {
  return { says: "", value: 1, baseline: null, unit: "count", table, of, from_ns: 0, to_ns: 1, stack };
}

test.each([
  ["spans", ["gc_phase"], { tab: "spans", kinds: ["gc_phase"] }, ["gc"]],
  ["spans", [], { tab: "spans", kinds: ["gc_pause"], pins: ["compile_count"] }, ["compile_count", "gc"]],
  ["samples", ["wall", "cpu"], { tab: "flame", event: "cpu", search: "leaf", threads: "" }, []],
  ["samples", [], { tab: "flame", event: "cpu" }, []],
  ["account", ["compiler", "gc"], { tab: "flame", event: "waits/lock", threads: "compiler" }, []],
  ["facts", ["ReservedCodeCacheSize"], { tab: "facts", find: "ReservedCodeCacheSize" }, []],
  ["counters", ["compile_count"], { pins: ["compile_count"] }, ["compile_count"]],
  ["counters", ["disk_bytes"], { pins: ["disk_bytes"] }, ["disk_bytes"]],
])("evidence of the table %s that names %j is shown", (table, of, change, lanes) => {
  const shown = shownBy(item(table, of, "leaf;caller"), LOOK, KNOWN, NOW);
  expect(shown?.change).toMatchObject(change);
  expect(shown?.lanes).toEqual(lanes);
});

test.each([
  ["spans", ["monitor_enter"]],
  ["samples", ["wall"]],
  ["facts", ["MaxHeapSize"]],
  ["counters", ["unheard_of"]],
  ["logs", []],
])("evidence of the table %s that names %j, which is not there, is no link", (table, of) => {
  expect(shownBy(item(table, of), undefined, KNOWN, NOW)).toBeNull();
});

test("without stacks and lanes nothing is a link", () => {
  const bare = { ...KNOWN, lanes: [], events: [] } as Overview;
  const look: Look = { ...LOOK, event: "" };
  expect(["spans", "samples", "account", "counters"].map((table) => shownBy(item(table), look, bare, NOW))).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
