// What is known about a recording before anything is drawn.

import type { Interval, Nanoseconds } from "../base/quantities.ts";
import type { Explanation, Headline } from "./explanation.ts";

export interface Overview {
  schema: number;
  id?: number;
  name?: string;
  /** The zero point of all other times, in nanoseconds since the Unix epoch, as a string of digits. */
  origin_ns: string;
  from: Nanoseconds;
  to: Nanoseconds;
  /** The time of all data. A log may cover more time than the account. */
  extent?: Interval;
  explanation: Explanation;
  /** What the slow time was compared with; empty if that was another recording. */
  baseline: Interval[];
  /** The name of that other recording; null if it cannot be queried. */
  baseline_recording?: string | null;
  /** The catalogue's page of each cause. */
  pages: Record<string, CausePage>;
  threads: Thread[];
  roles: { id: string; title: string }[];
  lanes: Lane[];
  /** The most useful event comes first. */
  events: SampleEvent[];
  states: State[];
  facts: Fact[];
  logs?: number;
  /** How many of the log lines, from the first, can be shown. */
  logs_held?: number;
  /** Which data can be queried. */
  has?: { samples: boolean; cover: boolean };
  /** A file keeps one of this many samples; 1 if all were kept. */
  thinned?: number;
}

export interface CausePage {
  /** Its common name. */
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
  /** When the thread started and ended, as far as that is known. */
  from?: Nanoseconds;
  to?: Nanoseconds;
  /** Where it was seen: sources of rows, and events of samples. */
  sources?: readonly string[];
}

export interface Lane {
  id: string;
  group: string;
  title: string;
  unit: string;
  kind: "counter" | "rate" | "spans" | "latency" | FigureKind;
  instances: string[];
  /** How many there are. A file may contain only some of the ports. */
  instances_count?: number;
  /** What each instance is, for a figure that combines lines. */
  parts?: readonly FigurePart[];
  /** For a lane of spans: its kinds. For a figure: the kinds that are marked on it. */
  kinds?: string[];
  /** The words of the schema behind it: counter names or span kinds. */
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
  /** Above this value the signal counts as slow. */
  threshold?: number | null;
  /** For each instance, or for the spans: the slow time compared with the baseline. */
  changes?: readonly (Change | null)[];
  /** Whether it is drawn by default. */
  shown: boolean;
  /** How many spans there are, and how many of the longest a file can show individually. */
  total?: number;
  held?: number;
}

/** The means of a line in both times, and the size of the change, from 0 to 1. */
export interface Change {
  baseline: number;
  slow: number;
  size: number;
}

/** What a figure shows: how full something is below its limit, or the stages that something goes through. */
export type FigureKind = "heap" | "cache" | "queue" | "sawtooth" | "stages";
export type FigurePart = "level" | "before" | "limit" | "drops" | "stage";

export interface SampleEvent {
  id: string;
  title: string;
  unit: "samples" | "ns" | "bytes";
  samples: number;
  on_cpu: boolean;
  /** Whether its rows have a duration, which is their weight. */
  lasting?: boolean;
}

/** A state of a thread. Heat cells contain its index. */
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

/** A recording in a list. Fields that are unknown until it is opened are `null`. */
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
