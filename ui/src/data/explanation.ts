// The answer of the engine as `fathom explain --json` gives it (version 1, docs/json.md).
//
// Its times are nanoseconds since the Unix epoch, read as doubles: exact to 128 ns, which no picture shows.

export type Verdict = "shown" | "likely" | "possible" | "not_enough" | "ruled_out";

export interface Explanation {
  schema: number;
  recording: RecordingSummary;
  headline: Headline;
  slow: SlowInterval[];
  /** Slow times that recur at regular times. */
  rhythm?: { says: string } | null;
  baseline: { kind: string; says: string; duration_ns: number };
  figures: Evidence[];
  causes: CauseVerdict[];
  unexplained: { share: number; says: string; stacks: { stack: string; share: number }[]; look?: Look };
  /** Lasting changes, if nothing can be called slow. */
  changed?: Change[];
  losses: { source: string; kind: string; says: string }[];
}

export interface Change {
  says: string;
  at_ns: number;
  before: number;
  after: number;
  unit: string;
  /** For a wait: the stack that waited most after the change, leaf first. */
  stack: string;
}

export interface RecordingSummary {
  title: string;
  pid: number | null;
  jvm: string;
  collector: string;
  cpus: number | null;
  from_ns: number;
  to_ns: number;
  sources: string[];
  tier: number;
}

/** Whether anything was slow, in one sentence, or that this cannot be known. */
export interface Headline {
  kind: "slow" | "nothing_slow" | "no_sign" | "cannot_tell";
  says: string;
  /** Missing data that could hide a slowdown or its cause. */
  but: readonly string[];
}

export interface SlowInterval {
  from_ns: number;
  to_ns: number;
  signal: string;
  says: string;
}

export interface CauseVerdict {
  id: string;
  verdict: Verdict;
  share: number;
  /** Lost time for each `per`: a request, or an arrival of data where several requests share a connection. */
  cost?: { ns: number; per: string } | null;
  says: string;
  /** For a cause that is ruled out: the time for which that is true. */
  during?: { from_ns: number; to_ns: number } | null;
  evidence: Evidence[];
  missing: { says: string; record_with: string }[];
  chain: string[];
  do: string[];
  prove: string;
  look?: Look;
}

/** Where the page shows a cause. */
export interface Look {
  /** Counters (`NAME|INSTANCE` for one of many) and kinds of spans. */
  lanes: readonly string[];
  roles: readonly string[];
  /** Ids of threads. */
  threads: readonly number[];
  /** An event of samples, `spans/KIND` or `waits/WHAT`; empty when no stacks show it. */
  event: string;
  search: string;
  table: string;
  worst: readonly Instant[];
}

/** Something that happened once. */
export interface Instant {
  from_ns: number;
  to_ns: number;
  /** 0 for the whole process. */
  tid: number;
  says: string;
}

export interface Evidence {
  says: string;
  value: number;
  baseline: number | null;
  unit: string;
  table: string;
  /** The sources of the value: counters, kinds of spans, events of samples, keys of facts, or roles of threads. */
  of: string[];
  from_ns: number;
  to_ns: number;
  stack: string;
}
