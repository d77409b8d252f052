// A recording with one cause that has something to show, for tests of what the page makes of it.

import type { Look } from "../src/data/explanation.ts";
import type { Lane, Overview } from "../src/data/overview.ts";

function lane(id: string, kind: Lane["kind"], more: Partial<Lane> = {}): Lane {
  return { id, group: "", title: id, unit: "", kind, instances: [""], words: [id], pain: false, shown: false, ...more };
}

const LANES: Lane[] = [
  lane("latency", "latency", { pain: true, shown: true, words: ["request"], instances: [":8080"] }),
  lane("compile_count", "rate"),
  lane("disk_bytes", "rate", { instances: ["vda", "vdb"] }),
  lane("gc", "spans", { shown: true, kinds: ["gc_pause", "gc_phase"], words: ["gc_pause", "gc_phase"] }),
];

export const LOOK: Look = {
  lanes: ["compile_count", "gc_pause"],
  roles: ["compiler"],
  threads: [7],
  event: "waits/lock",
  search: "shop.Cart.add",
  table: "spans",
  worst: [{ from_ns: 3, to_ns: 5, tid: 7, says: "2 ns" }],
};

/** A recording with a cause that has something to show. */
export const KNOWN = {
  explanation: {
    slow: [{ from_ns: 0, to_ns: 1, signal: "", says: "" }],
    causes: [
      { id: "churn", verdict: "shown", look: LOOK },
      { id: "other", verdict: "ruled_out" },
    ],
    unexplained: { share: 0, says: "", stacks: [] },
  },
  lanes: LANES,
  roles: [
    { id: "compiler", title: "Compilers" },
    { id: "gc", title: "GC" },
  ],
  threads: [
    { index: 0, tid: 3, name: "main", role: "java", cpu_ns: 0, samples: 0 },
    { index: 1, tid: 7, name: "C2", role: "compiler", cpu_ns: 0, samples: 0 },
  ],
  events: [
    { id: "cpu", title: "CPU", unit: "ns", samples: 1, on_cpu: true },
    { id: "waits/lock", title: "locks", unit: "ns", samples: 1, on_cpu: false, lasting: true },
  ],
  facts: [{ subject: "flag", key: "ReservedCodeCacheSize", value: "5m", source: "jfr" }],
} as unknown as Overview;
