// One request over its threads: which part of its time each state has, and what the threads did in it, as bars in the order in
// which they began. Pure.

import type { Interval, Nanoseconds } from "../base/quantities.ts";
import { parsedDetail } from "../data/detail.ts";
import type { Heat, SpanRow } from "../data/source.ts";

/** Shorter things than this part of the request are not drawn one by one. */
const LEAST_PART = 0.004;
/** More bars than this are no picture. */
const MOST_BARS = 24;

export interface StatePart {
  /** Index of the overview's states. */
  state: number;
  /** Part of the time, 0 to 1. */
  part: number;
}

/** The states of one thread, the one with most of the time first; what nobody knows is not among them. */
export function partsOf(heat: Heat, thread: number): StatePart[] {
  const sums = new Map<number, number>();
  for (let cell = 0; cell < heat.thread.length; cell += 1) {
    if (heat.thread[cell] !== thread) continue;
    sums.set(heat.state[cell], (sums.get(heat.state[cell]) ?? 0) + heat.value[cell] / heat.columns);
  }
  return [...sums].map(([state, part]) => ({ state, part })).sort((a, b) => b.part - a.part);
}

/** Where something lies in the request, in parts of its length. */
export interface Bar {
  row: SpanRow;
  left: number;
  width: number;
}

/** What lay in the request, in order of time; of many things the longest. */
export function barsOf(rows: readonly SpanRow[], request: Interval): { bars: Bar[]; hidden: number } {
  const length = Math.max(request.to - request.from, 1);
  const bars = rows.flatMap((row): Bar[] => {
    const [from, to] = [Math.max(row.t, request.from), Math.min(row.t + row.duration, request.to)];
    const width = (to - from) / length;
    return width >= LEAST_PART ? [{ row, left: (from - request.from) / length, width }] : [];
  });
  const longest = bars.sort((a, b) => b.width - a.width).slice(0, MOST_BARS);
  return { bars: longest.sort((a, b) => a.left - b.left || b.width - a.width), hidden: rows.length - longest.length };
}

/** What a request says of its way: how long until somebody read it, until its answer began, and its end stood in the kernel. */
export interface Phases {
  unread: Nanoseconds | null;
  firstByte: Nanoseconds | null;
  unsent: Nanoseconds | null;
  /** What the end of the answer waited for there: a word of the schema. */
  unsentFor: string;
  /** Id of the thread that read it, if that was not the one that answered. */
  reader: number | null;
}

export function phasesOf(detail: string): Phases {
  const known = parsedDetail(detail);
  const number = (key: string): number | null => (typeof known[key] === "number" ? (known[key] as number) : null);
  return {
    unread: number("unread_ns"),
    firstByte: number("first_byte_ns"),
    unsent: number("unsent_ns"),
    unsentFor: typeof known.unsent_for === "string" ? known.unsent_for : "",
    reader: number("reader_tid"),
  };
}
