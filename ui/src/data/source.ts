// The queries that the page sends about a recording, and the shape of the answers.
//
// There are two sources: a server that holds the recording (`served.ts`), and the page itself, with data packed into a
// single file (`file/`). Views know neither. Answers are columns, because thousands of values are drawn.

import type { Interval, Nanoseconds, ThreadIndex } from "../base/quantities.ts";
import type { CauseVerdict, Evidence, Explanation, Headline } from "./explanation.ts";
import type { Overview, RecordingLine } from "./overview.ts";
import type { Runs } from "./runs.ts";
import type { Watched } from "./watched.ts";

/** Which threads: all, or these. */
export type Threads = "all" | readonly ThreadIndex[];

/** Which samples a picture is made of. */
export interface Selection extends Interval {
  threads: Threads;
  event: string;
}

/** Formats of other tools, as `fathom export --to` names them. */
export type ExportFormat = "collapsed" | "csv" | "firefox" | "otlp" | "perfetto" | "pprof" | "speedscope";

/** What a selection is compared with. */
export type Baseline =
  | { kind: "none" }
  | { kind: "quiet" }
  | { kind: "interval"; from: Nanoseconds; to: Nanoseconds }
  | { kind: "recording"; id: number };

export interface CounterQuery extends Interval {
  lane: string;
  /** The indexes of the requested instances of the lane. */
  instances: readonly number[];
  /** The maximum number of rows for each. */
  width: number;
}

/** The extremes of each bucket, so that no spike is lost. */
export interface CounterSeries {
  t: Float64Array;
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
}

export interface SpansQuery extends Interval {
  kinds: readonly string[];
  width: number;
  threads: Threads;
}

/** Spans as marks. Touching spans shorter than a pixel become one mark. */
export interface SpanMarks {
  t: Float64Array;
  duration: Float64Array;
  thread: Int32Array;
  kind: string[];
  name: string[];
  merged: Float64Array;
  /** The longest span of the mark. */
  longest: Float64Array;
}

export interface LatencyQuery extends Interval {
  /** The port that received them; empty for the one whose requests define the slow time. */
  port: string;
  columns: number;
  /** The number of parts of the time that get quantiles. */
  parts: number;
}

/** Latencies: how many requests of each duration began when, and the quantiles. */
export interface Latency extends Interval {
  columns: number;
  column: Int32Array;
  /** A duration is at least 2^(step / stepsPerDoubling) ns. */
  step: Int32Array;
  count: Float32Array;
  stepsPerDoubling: number;
  /** The parts of the time in which any request began. */
  lines: LatencyLines;
}

export interface LatencyLines {
  t: Float64Array;
  /** The length of a part. */
  length: Nanoseconds;
  count: Float64Array;
  p50: Float64Array;
  p99: Float64Array;
  max: Float64Array;
}

export interface TableQuery extends Interval {
  kinds: readonly string[];
  /** Only spans whose duration is in this range. */
  took?: Interval | null;
  threads: Threads;
  find: string;
  sort: "duration" | "time" | "name" | "thread";
  order: "asc" | "desc";
  limit: number;
  offset: number;
}

export interface SpanRow {
  t: Nanoseconds;
  duration: Nanoseconds;
  thread: ThreadIndex;
  kind: string;
  name: string;
  stack: number;
  kernelStack: number;
  detail: string;
}

export interface SpanTable {
  rows: SpanRow[];
  /** The number of matching spans, and the sum of their durations. */
  total: number;
  totalDuration: Nanoseconds;
  /** How many of them can be listed. A single file may have left out the shortest. */
  held: number;
  /** Whether `total` counts only those that can be listed, because the others cannot be searched. */
  isPart: boolean;
}

export interface Frame {
  name: string;
  kind: string;
  module: string;
  line: number;
}

/** Which stacks: with a frame that matches a search, with a frame of this name, or below a node of the plain flame graph. */
export type Matching = { find: string } | { frame: string } | { below: number; name: string };

export interface HeatQuery extends Interval {
  by: "samples" | "state";
  event: string;
  columns: number;
  threads: Threads;
  /** Only these samples. */
  matching?: Matching | null;
}

/** Cells that are not empty. */
export interface Heat {
  /** The number of columns: fewer than requested if there are very many threads. */
  columns: number;
  thread: Int32Array;
  column: Int32Array;
  value: Float32Array;
  state: Uint8Array;
  /** For states: the part of the thread's time in the cell that is known. */
  known?: Float32Array;
  /** The value of a cell that is busy all the time. */
  full: number;
}

/** The number of threads of a role in each state, without those that wait for work; or the weight of their samples. */
export interface RoleHeat {
  columns: number;
  /** Index into the overview's roles. */
  role: Int32Array;
  column: Int32Array;
  value: Float32Array;
  /** Index into the overview's states; larger than all of them if there is no state. */
  state: Uint8Array;
  full: number;
}

/** Weight per second and fraction of it. */
export interface SubsecondHeat {
  second: Int32Array;
  row: Int32Array;
  weight: Float32Array;
  rows: number;
  /** The start of second 0. */
  first: Nanoseconds;
  full: number;
}

export interface FlameQuery extends Selection {
  inverted: boolean;
  baseline: Baseline;
  /** Only the subtree of this node of the tree that is not inverted, including smaller frames. */
  root?: number;
}

/** Frames of a tree in preorder, the root first. */
export interface FlameRows {
  depth: Int32Array;
  /** Values for `FlameQuery.root`. */
  node: Int32Array;
  name: string[];
  kind: string[];
  module: string[];
  total: Float64Array;
  self: Float64Array;
  /** The weight in the baseline, scaled to the same length of time; empty without a baseline. */
  base: Float64Array;
  unit: string;
  samples: number;
  /** The number of frames that were left out because they are too small. */
  cut: number;
}

/** The frames with the largest own weight, total, or growth against the baseline. */
export interface FramesQuery extends Selection {
  baseline: Baseline;
  sort: "self" | "total" | "growth";
}

/** Frames by their own weight, regardless of the caller. */
export interface HottestFrame {
  name: string;
  kind: string;
  module: string;
  self: number;
  total: number;
  baseSelf: number;
  baseTotal: number;
}

export interface HottestFrames {
  frames: HottestFrame[];
  total: number;
  unit: string;
}

export interface SandwichQuery extends Selection {
  frame: string;
  side: "callers" | "callees";
}

/** The time of log lines without a time. */
export const NO_TIME: Nanoseconds = Number.MIN_SAFE_INTEGER;

export interface LogLine {
  /** When it was written, or `NO_TIME`. */
  t: Nanoseconds;
  source: string;
  level: string;
  class: string;
  text: string;
}

export interface LogQuery extends Interval {
  find: string;
  limit: number;
}

export interface ComparedRecording {
  id: number;
  name: string;
  title: string;
  jvm: string;
  slow_ns: Nanoseconds;
  headline: Headline;
  duration_ns: Nanoseconds;
  figures: Evidence[];
}

/** A fact that differs, with the values of both sides. */
export interface FactDifference {
  fact: string;
  a: string[];
  b: string[];
}

export interface Comparison {
  verdict: { kind: string; says: string; because: { kind: string; says: string }[] };
  facts: { given: FactDifference[]; derived: FactDifference[]; same: number; one_sided: string[] };
  a: ComparedRecording;
  b: ComparedRecording;
  causes: {
    id: string;
    a_share: number;
    b_share: number;
    a_verdict: CauseVerdict["verdict"];
    b_verdict: CauseVerdict["verdict"];
  }[];
}

/** Answers about one recording. */
export interface Source {
  overview(): Promise<Overview>;
  /** One series for each requested instance, in order. */
  counter(query: CounterQuery, signal?: AbortSignal): Promise<CounterSeries[]>;
  latency(query: LatencyQuery, signal?: AbortSignal): Promise<Latency>;
  spans(query: SpansQuery, signal?: AbortSignal): Promise<SpanMarks>;
  table(query: TableQuery, signal?: AbortSignal): Promise<SpanTable>;
  stack(id: number, signal?: AbortSignal): Promise<Frame[]>;
  heat(query: HeatQuery, signal?: AbortSignal): Promise<Heat>;
  roleHeat(query: Omit<HeatQuery, "threads">, signal?: AbortSignal): Promise<RoleHeat>;
  subsecond(query: Selection & { rows: number }, signal?: AbortSignal): Promise<SubsecondHeat>;
  flame(query: FlameQuery, signal?: AbortSignal): Promise<FlameRows>;
  frames(query: FramesQuery, signal?: AbortSignal): Promise<HottestFrames>;
  sandwich(query: SandwichQuery, signal?: AbortSignal): Promise<FlameRows>;
  log(query: LogQuery, signal?: AbortSignal): Promise<LogLine[]>;
  markdown(): Promise<string>;
  /** The URL of a selection in the format of another tool; `null` without a server. */
  exported(query: Selection, format: ExportFormat): string | null;
}

/** Where recordings come from: a server's folder, or the single file. */
export interface Library {
  /** Whether there can be several, and so a list and a comparison. */
  readonly many: boolean;
  recordings(): Promise<RecordingLine[]>;
  /** The status of the service that makes the recordings; `null` without one. */
  watched(): Promise<Watched | null>;
  /** All recordings over time, as far as they have been read. */
  runs(): Promise<Runs>;
  open(id: number): Source;
  compare(a: number, b: number): Promise<Comparison>;
}

/** The server no longer answers: the program has ended, or the machine is unreachable. */
export class ServerGone extends Error {
  constructor() {
    super("the server does not answer");
  }
}

export type { Explanation };
