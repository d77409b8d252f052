// What is known of a recording before anything of it is drawn.

import type { Interval, Nanoseconds } from "../base/quantities.ts";
import type { Explanation, Headline } from "./explanation.ts";

export interface Overview {
  schema: number;
  id?: number;
  name?: string;
  /** Instant from which all other times count, in nanoseconds since the Unix epoch, as digits. */
  origin_ns: string;
  from: Nanoseconds;
  to: Nanoseconds;
  /** Everything that has a time: a log may reach further than what was accounted for. */
  extent?: Interval;
  explanation: Explanation;
  /** What the slow time was compared with; empty when that was another recording. */
  baseline: Interval[];
  /** Its name; null where nothing can be asked of it. */
  baseline_recording?: string | null;
  /** The catalogue's page of each cause. */
  pages: Record<string, CausePage>;
  threads: Thread[];
  roles: { id: string; title: string }[];
  lanes: Lane[];
  /** The best to begin with comes first. */
  events: SampleEvent[];
  states: State[];
  facts: Fact[];
  logs?: number;
  /** How many of them, the first, can be shown. */
  logs_held?: number;
  /** What there is to ask for. */
  has?: { samples: boolean; cover: boolean };
  /** One of how many samples was kept in a file; 1 if all were. */
  thinned?: number;
}

export interface CausePage {
  /** What people call it. */
  name: string;
  /** What it is, in a sentence. */
  title: string;
  sections: { heading: string; text: string }[];
}

export interface Thread {
  index: number;
  tid: number;
  name: string;
  role: string;
  cpu_ns: number;
  samples: number;
  /** From when to when it lived, as far as that is known. */
  from?: Nanoseconds;
  to?: Nanoseconds;
  /** What told of it: sources of rows, and events of samples. */
  sources?: readonly string[];
}

export interface Lane {
  id: string;
  group: string;
  title: string;
  unit: string;
  kind: "counter" | "rate" | "spans" | "latency" | FigureKind;
  instances: string[];
  /** How many there are: of ports a file may have some only. */
  instances_count?: number;
  /** What each instance is, for a figure that puts lines together. */
  parts?: readonly FigurePart[];
  /** Kinds of spans, for a lane of spans; for a figure those that are marked on it. */
  kinds?: string[];
  /** Words of the schema that it is made of: counter names, or span kinds. */
  words?: string[];
  /** What it means, in a sentence. */
  says?: string;
  /** The signal in which the slow time was found. */
  pain: boolean;
  /** Whether the instances are parts of one whole, drawn on top of each other. */
  stacked?: boolean;
  /** Names of palette colours of the instances, if they are states, and the ids of these. */
  colors?: readonly string[];
  states?: readonly string[];
  /** From where on that signal counts as slow. */
  threshold?: number | null;
  /** Of each instance, or of the spans: how it is in the slow time beside the baseline. */
  changes?: readonly (Change | null)[];
  /** Drawn without being asked for. */
  shown: boolean;
  /** How many spans there are, and how many of them, the longest, a file can show one by one. */
  total?: number;
  held?: number;
}

/** Means of a line in both times, and from 0 to 1 how much of a change that is. */
export interface Change {
  baseline: number;
  slow: number;
  size: number;
}

/** What a figure is of: how full something is under what it may hold, or the stages that something goes through. */
export type FigureKind = "heap" | "cache" | "queue" | "sawtooth" | "stages";
export type FigurePart = "level" | "before" | "limit" | "drops" | "stage";

export interface SampleEvent {
  id: string;
  title: string;
  unit: "samples" | "ns" | "bytes";
  samples: number;
  on_cpu: boolean;
  /** Whether its rows are spans of time, whose weight is their length. */
  lasting?: boolean;
}

/** A state of a thread; its index is what heat cells hold. */
export interface State {
  id: string;
  title: string;
  /** Name of a colour of the page's palette. */
  color: string;
}

export interface Fact {
  subject: string;
  key: string;
  value: string;
  source: string;
}

/** A recording in a list; what is not known before it is opened is `null`. */
export interface RecordingLine {
  id: number;
  name: string;
  title: string | null;
  jvm: string | null;
  from_ns: string | null;
  duration_ns: Nanoseconds | null;
  bytes: number;
  slow_ns: Nanoseconds | null;
  headline: Headline | null;
  first_cause: string | null;
  first_cause_name: string | null;
  verdict: string | null;
  share: number | null;
  error: string | null;
}
