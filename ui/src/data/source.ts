// The questions that the page asks of a recording, and the shape of the answers.
//
// Two answer them: a server that holds the recording (`served.ts`), and the page itself from what was packed into a
// single file (`file/`). Views know neither. Answers are columns, because they are drawn by the thousand.

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
  /** Which of the lane's instances, by their places. */
  instances: readonly number[];
  /** No more than this many rows for each. */
  width: number;
}

/** Extremes per bucket, so that no spike is lost. */
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

/** Spans as marks; those shorter than a pixel that touch are one. */
export interface SpanMarks {
  t: Float64Array;
  duration: Float64Array;
  thread: Int32Array;
  kind: string[];
  name: string[];
  merged: Float64Array;
  /** The longest one of the mark. */
  longest: Float64Array;
}

export interface LatencyQuery extends Interval {
  /** The port that they came to; empty for the one whose requests tell slow time. */
  port: string;
  columns: number;
  /** Quantiles of so many parts of the time. */
  parts: number;
}

/** How long requests took: how many of which length began when, and the quantiles. */
export interface Latency extends Interval {
  columns: number;
  column: Int32Array;
  /** A length is at least 2^(step / stepsPerDoubling) ns. */
  step: Int32Array;
  count: Float32Array;
  stepsPerDoubling: number;
  /** Parts of the time in which any request began. */
  lines: LatencyLines;
}

export interface LatencyLines {
  t: Float64Array;
  /** How long a part is. */
  length: Nanoseconds;
  count: Float64Array;
  p50: Float64Array;
  p99: Float64Array;
  max: Float64Array;
}

export interface TableQuery extends Interval {
  kinds: readonly string[];
  /** Only spans that took from so long to so long. */
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
  /** How many there are, and for how long together. */
  total: number;
  totalDuration: Nanoseconds;
  /** How many of them can be listed: all but in a file, which may have left out the shortest. */
  held: number;
  /** Whether `total` is of those that can be listed alone: the others cannot be searched. */
  isPart: boolean;
}

export interface Frame {
  name: string;
  kind: string;
  module: string;
  line: number;
}

/** Which stacks: with a frame that is looked for, with a frame of a name, or below a node of the plain flame graph. */
export type Matching = { find: string } | { frame: string } | { below: number; name: string };

export interface HeatQuery extends Interval {
  by: "samples" | "state";
  event: string;
  columns: number;
  threads: Threads;
  /** Of samples these alone. */
  matching?: Matching | null;
}

/** Cells that are not empty. */
export interface Heat {
  /** How many columns there are: fewer than asked for when there are very many threads. */
  columns: number;
  thread: Int32Array;
  column: Int32Array;
  value: Float32Array;
  state: Uint8Array;
  /** Of states, the part of the thread's time in the cell of which anything is known. */
  known?: Float32Array;
  /** The value of a cell that is busy all the time. */
  full: number;
}

/** How many threads of a role are in which state, without those that wait for work; or the weight of their samples. */
export interface RoleHeat {
  columns: number;
  /** Index of the overview's roles. */
  role: Int32Array;
  column: Int32Array;
  value: Float32Array;
  /** Index of the overview's states; larger than all of them where there is none. */
  state: Uint8Array;
  full: number;
}

/** Weight per second and fraction of it. */
export interface SubsecondHeat {
  second: Int32Array;
  row: Int32Array;
  weight: Float32Array;
  rows: number;
  /** When second 0 begins. */
  first: Nanoseconds;
  full: number;
}

export interface FlameQuery extends Selection {
  inverted: boolean;
  baseline: Baseline;
  /** Only what is below this node of the tree that is not inverted, down to smaller frames. */
  root?: number;
}

/** Frames of a tree in preorder, the root first. */
export interface FlameRows {
  depth: Int32Array;
  /** What `FlameQuery.root` takes. */
  node: Int32Array;
  name: string[];
  kind: string[];
  module: string[];
  total: Float64Array;
  self: Float64Array;
  /** In the baseline, for the same length of time; empty without one. */
  base: Float64Array;
  unit: string;
  samples: number;
  /** Frames too small to be here. */
  cut: number;
}

/** The frames with the largest own weight, total, or growth against the baseline. */
export interface FramesQuery extends Selection {
  baseline: Baseline;
  sort: "self" | "total" | "growth";
}

/** Frames by their own weight, without regard to who called. */
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

/** The time of what does not say when it was. */
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

/** A fact that differs, with its values on both sides. */
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
  /** One series for each instance that is asked for, in their order. */
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
  /** The address of a selection in the format of another tool; `null` where no program answers. */
  exported(query: Selection, format: ExportFormat): string | null;
}

/** Where recordings come from: a server's folder, or the one that is in the file. */
export interface Library {
  /** Whether there can be more than one, and hence a list and a comparison. */
  readonly many: boolean;
  recordings(): Promise<RecordingLine[]>;
  /** What the service that makes the recordings says of itself; nothing where there is none. */
  watched(): Promise<Watched | null>;
  /** All recordings over time, as far as they were read. */
  runs(): Promise<Runs>;
  open(id: number): Source;
  compare(a: number, b: number): Promise<Comparison>;
}

/** Nobody answers any more: the program was ended, or the machine is out of reach. */
export class ServerGone extends Error {
  constructor() {
    super("the server does not answer");
  }
}

export type { Explanation };
