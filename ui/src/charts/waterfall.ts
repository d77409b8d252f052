// One request over its threads: the part of its time in each state, and what the threads did in it, as bars sorted by their
// start. Pure.

import type { Interval, Nanoseconds } from "../base/quantities.ts";
import { parsedDetail } from "../data/detail.ts";
import type { Heat, SpanRow } from "../data/source.ts";

/** Spans shorter than this part of the request are not drawn individually. */
const LEAST_PART = 0.004;
/** The maximum number of bars in the picture. */
const MOST_BARS = 24;

export interface StatePart {
  /** Index into the overview's states. */
  state: number;
  /** The part of the time, 0 to 1. */
  part: number;
}

/** The states of one thread, the one with most of the time first, without unknown time. */
export function partsOf(heat: Heat, thread: number): StatePart[] {
  const sums = new Map<number, number>();
  for (let cell = 0; cell < heat.thread.length; cell += 1) {
    if (heat.thread[cell] !== thread) continue;
    sums.set(heat.state[cell], (sums.get(heat.state[cell]) ?? 0) + heat.value[cell] / heat.columns);
  }
  return [...sums].map(([state, part]) => ({ state, part })).sort((a, b) => b.part - a.part);
}

/** The position of a span in the request, in parts of its duration. */
export interface Bar {
  row: SpanRow;
  left: number;
  width: number;
}

/** The spans in the request, sorted by time. If there are too many, only the longest. */
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

/** The phases of a request: how long until it was read, until its answer began, and how long the answer's end was in the kernel. */
export interface Phases {
  unread: Nanoseconds | null;
  firstByte: Nanoseconds | null;
  unsent: Nanoseconds | null;
  /** What the end of the answer waited for in the kernel: a word of the schema. */
  unsentFor: string;
  /** The id of the thread that read the request, if another one answered. */
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
