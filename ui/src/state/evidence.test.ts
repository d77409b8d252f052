import { expect, test } from "vitest";
import type { Evidence } from "../data/explanation.ts";
import type { Lane, Overview } from "../data/overview.ts";
import { showEvidence, tracesOf } from "./evidence.ts";
import { DEFAULTS } from "./view_state.ts";

const LANES: Lane[] = [
  lane("compile_count", "rate", false),
  lane("heap_used_bytes", "counter", true),
  { ...lane("gc", "spans", true), kinds: ["gc_pause", "gc_phase"], words: ["gc_pause", "gc_phase"] },
];

const KNOWN = {
  pages: {
    churn: {
      title: "",
      sections: [
        { heading: "Mechanism", text: "`heap_used_bytes`" },
        {
          heading: "Evidence",
          text: "- `counters` `compile_count`: x\n- `spans` `gc_pause`, role `compiler`, role `gc`",
        },
      ],
    },
  },
  lanes: LANES,
  roles: [
    { id: "compiler", title: "Compilers" },
    { id: "gc", title: "GC" },
  ],
  threads: [{ index: 0, tid: 1, name: "C2", role: "compiler", cpu_ns: 0, samples: 0 }],
} as unknown as Overview;

function lane(id: string, kind: Lane["kind"], shown: boolean): Lane {
  return { id, group: "", title: id, unit: "", kind, instances: [""], words: [id], pain: false, shown };
}

function item(table: string, stack = "", of: string[] = []): Evidence {
  return { says: "", value: 1, baseline: null, unit: "count", table, of, from_ns: 0, to_ns: 1, stack };
}

test("the page of a cause names what it is judged by", () => {
  expect(tracesOf("churn", KNOWN)).toEqual({
    lanes: ["compile_count", "gc"],
    kinds: ["gc_pause"],
    roles: ["compiler"],
  });
  expect(tracesOf("unknown", KNOWN)).toEqual({ lanes: [], kinds: [], roles: [] });
});

test.each([
  ["spans", { tab: "spans", kinds: ["gc_pause"], lanes: ["compile_count"] }],
  ["samples", { tab: "flame", search: "leaf", threads: "" }],
  ["account", { tab: "flame", threads: "compiler" }],
  ["facts", { tab: "facts" }],
  ["counters", { lanes: ["compile_count"] }],
])("evidence of the table %s shows what it was read from", (table, shown) => {
  const evidence = item(table, table === "samples" ? "leaf;caller" : "");
  expect(showEvidence(evidence, tracesOf("churn", KNOWN), KNOWN, DEFAULTS)).toMatchObject(shown);
});

test.each([
  ["spans", ["gc_phase"], { tab: "spans", kinds: ["gc_phase"], lanes: [] }],
  ["account", ["gc"], { tab: "flame", threads: "" }],
  ["account", ["compiler"], { tab: "flame", threads: "compiler" }],
  ["facts", ["ReservedCodeCacheSize"], { tab: "facts", find: "ReservedCodeCacheSize" }],
  ["counters", ["heap_used_bytes"], { lanes: [] }],
])("evidence of the table %s that names %j shows that alone", (table, of, shown) => {
  expect(showEvidence(item(table, "", of), tracesOf("churn", KNOWN), KNOWN, DEFAULTS)).toMatchObject(shown);
});
