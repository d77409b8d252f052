// Runs over time, as `fathom runs --json` prints them (docs/json.md), and what else the page needs.

import type { Nanoseconds } from "../base/quantities.ts";

export interface Runs {
  /** In order of time. */
  runs: Run[];
  /** The recording of each run. */
  recordings: number[];
  marks: { at: number }[];
  /** The marks in words. */
  changes: Change[];
  /** How often a series without a change gets a false mark. */
  false_alarms: number;
  /** The causes of all runs, sorted by lost time, the largest first. */
  lost: LostTime[];
  /** Recordings that are not in the series: not read yet, not readable, or too old. */
  unread: number;
  unreadable: number;
  left_out: number;
}

export interface Run {
  name: string;
  /** Main class or jar. */
  title: string;
  from_ns: number;
  length_ns: Nanoseconds;
  latencies: Latencies | null;
  /** The part of the time in which the application was stopped. */
  stopped: number;
  /** Thread time that was lost in slow time. */
  lost_ns: Nanoseconds;
}

export interface Latencies {
  count: number;
  p50_ns: Nanoseconds;
  p99_ns: Nanoseconds;
  mean_ns: Nanoseconds;
}

export interface Change {
  by: string;
  with_it: string[];
}

export interface LostTime {
  id: string;
  name: string;
  /** For each run: per request, or per second if requests are unknown. */
  ns: Nanoseconds[];
}
