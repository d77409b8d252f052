// A service that is slow from second 10 to 30 of 40 because its compilers are busy, with names that mean harm.

import type { CauseVerdict, Evidence, Explanation } from "../src/data/explanation.ts";
import type { Lane } from "../src/data/overview.ts";
import { type Activity, overviewOf, type SpanOf, threadsOf, type World } from "./world.ts";

const ORIGIN = 1_700_000_000;
const at = (second: number): number => (ORIGIN + second) * 1e9;
export const HOSTILE = '<img src=x onerror="alert(1)">\u202egnp.exe\u0007';

function cause(id: string, verdict: CauseVerdict["verdict"], share: number): CauseVerdict {
  const says = `what is said of ${id}`;
  return { id, verdict, share, says, evidence: [], missing: [], chain: [], do: [], prove: "" };
}

const TIME = { from_ns: at(10), to_ns: at(30) };

function measured(
  says: string,
  value: number,
  baseline: number | null,
  unit: string,
  table: string,
  of: string[],
): Evidence {
  return { says, value, baseline, unit, table, of, stack: "", ...TIME };
}

function explanation(): Explanation {
  const churn = cause("code_cache_churn", "shown", 0.71);
  churn.evidence = [
    measured("compiler threads", 0.61, 0.17, "cores", "account", ["compiler"]),
    measured("compilations", 139, 22.5, "1/s", "counters", ["compile_count"]),
    measured("longest pause", 21e6, 4e6, "ns", "spans", ["gc_pause"]),
    { ...measured(HOSTILE, 0.2, null, "ratio", "samples", []), stack: `${HOSTILE};run` },
  ];
  churn.look = {
    lanes: ["compile_count"],
    roles: [],
    threads: [1004],
    event: "cpu",
    search: "",
    table: "samples",
    worst: [{ from_ns: at(12), to_ns: at(13), tid: 0, says: `1.4 threads: compilers of ${HOSTILE}` }],
  };
  churn.do = ["-XX:ReservedCodeCacheSize=240m"];
  churn.prove = "fathom lab run code_cache_churn";
  const unknown = cause("swap_in", "not_enough", 0);
  unknown.missing = [{ says: "nothing was recorded", record_with: "sudo fathom record --pid PID --for 60s" }];
  return {
    schema: 1,
    recording: {
      title: HOSTILE,
      pid: 4242,
      jvm: "JDK 25",
      collector: "G1",
      cpus: 2,
      from_ns: at(0),
      to_ns: at(40),
      sources: ["jfr"],
      tier: 0,
    },
    headline: { kind: "slow", says: "slow for 20 s of 40 s", but: [] },
    slow: [{ ...TIME, signal: "request_latency", says: "requests took up to 7.8 s" }],
    baseline: { kind: "rest_of_recording", says: "the other 20 s of the recording", duration_ns: 20e9 },
    figures: [measured("process CPU", 1.04, 0.17, "cores", "counters", ["cpu_process_ratio"])],
    causes: [churn, unknown, { ...cause("lock_contention", "ruled_out", 0), during: TIME }],
    unexplained: { share: 0.29, says: "interpreted frames", stacks: [{ stack: `${HOSTILE};b`, share: 0.1 }] },
    losses: [{ source: "jfr", kind: "truncated", says: "the last second is missing" }],
  };
}

const LANES: Lane[] = [
  lane("latency", "request latency", "ns", { kind: "latency", pain: true, threshold: 50e6, kinds: ["request"] }),
  lane("request_latency", "request latency", "ns", { pain: true, threshold: 2e9 }),
  lane("compile_count", "compilations", "1/s", { kind: "rate", shown: false }),
  lane("request", "requests", "", { kind: "spans", kinds: ["request"], instances: [], shown: false }),
  lane("cache", "code cache", "bytes", {
    kind: "cache",
    parts: ["level", "limit"],
    instances: ["used", "reserved"],
    kinds: ["gc_pause"],
    shown: false,
  }),
  lane("gc", "GC", "", { kind: "spans", kinds: ["gc_pause"], words: ["gc_pause"], instances: [] }),
];

function lane(id: string, title: string, unit: string, more: Partial<Lane>): Lane {
  return {
    id,
    group: "all",
    title,
    unit,
    kind: "counter",
    instances: [""],
    words: [id],
    pain: false,
    shown: true,
    ...more,
  };
}

export function sickWorld(handlers = 4): World {
  const threads = threadsOf(["handler", "http", handlers], ["compiler", "C2 CompilerThread", 2]);
  threads[0].name = HOSTILE;
  threads[1].name = "x".repeat(10_000);
  for (const thread of threads) thread.sources = ["jfr", "run_queue"];
  const activities: Activity[] = threads.map(({ index: thread, role }) =>
    role === "handler"
      ? {
          thread,
          from_ms: 0,
          to_ms: 40_000,
          every_ms: 100,
          stack: `vm:JavaThread::run;compiled:run;interpreted:${HOSTILE}`,
        }
      : { thread, from_ms: 10_000, to_ms: 30_000, every_ms: 20, stack: "vm:loop;vm:C2Compiler::compile_method" },
  );
  const spans: SpanOf[] = Array.from({ length: 40 }, (_, second) => ({
    t: second * 1e9,
    duration: second >= 10 && second < 30 ? 21e6 : 4e6,
    thread: -1,
    kind: "gc_pause",
    name: second % 4 === 0 ? "Pause Full" : HOSTILE,
    detail: JSON.stringify({ cause: HOSTILE }),
    stack: 3,
  }));
  const requests = Array.from({ length: 2_000 }, (_, index) => ({
    t: index * 20e6,
    duration: (index >= 500 && index < 1_500 && index % 3 > 0 ? 900e6 : 3e6) * (1 + ((index * 7) % 11) / 8),
  }));
  const slow = requests.filter(({ duration }) => duration > 1e9);
  spans.push(...slow.map((one) => ({ ...one, thread: 2, kind: "request", name: "", detail: '{"unread_ns":4000000}' })));
  const evidence = "- `counters` `compile_count`: rate\n- `spans` `gc_pause`\n- threads with role `compiler`";
  return {
    overview: overviewOf(explanation(), {
      origin_ns: `${ORIGIN}000000000`,
      to: 40e9,
      threads,
      lanes: LANES,
      baseline: [
        { from: 0, to: 10e9 },
        { from: 30e9, to: 40e9 },
      ],
      pages: {
        code_cache_churn: {
          name: "Code cache churn",
          title: "Churn",
          sections: [{ heading: "Evidence", text: evidence }],
        },
      },
      facts: [{ subject: "jvm", key: HOSTILE, value: HOSTILE, source: "jfr" }],
    }),
    activities,
    spans,
    requests,
    counters: {
      "request_latency/": Array.from({ length: 40 }, (_, second) => [
        second * 1000,
        second >= 10 && second < 30 ? 7.8e9 : 1e6,
      ]),
      "cache/used": Array.from({ length: 40 }, (_, second) => [second * 1000, (2 + ((second * 7) % 5) / 2) * 1e6]),
      "cache/reserved": [[0, 5e6]],
      "compile_count/": Array.from({ length: 40 }, (_, second) => [
        second * 1000,
        second >= 10 && second < 30 ? 139 : 22,
      ]),
    },
  };
}
