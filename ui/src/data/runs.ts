// Runs over time, as `fathom runs --json` prints them (docs/json.md), with what the page needs beside that.

import type { Nanoseconds } from "../base/quantities.ts";

export interface Runs {
  /** In order of time. */
  runs: Run[];
  /** The recording of each run. */
  recordings: number[];
  marks: { at: number }[];
  /** The marks in words. */
  changes: Change[];
  /** How often a series without a change gets a mark. */
  false_alarms: number;
  /** The causes of all runs, the first one lost the most time. */
  lost: LostTime[];
  /** Recordings that are no part of the series: not read so far, not readable, or too old. */
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
  /** Of each run, per request, or per second where requests are not known. */
  ns: Nanoseconds[];
}
