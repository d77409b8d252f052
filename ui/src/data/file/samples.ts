// Samples of a file as columns in time order, and queries that need no stacks.

import type { Nanoseconds } from "../../base/quantities.ts";
import { lowerBound } from "../../base/search.ts";
import type { Heat, Selection, SubsecondHeat, Threads } from "../source.ts";
import type { Pack } from "./pack.ts";

/** The default; the pack has another unit for very long recordings. */
const MICROSECOND = 1_000;

export interface Samples {
  t: Float64Array;
  thread: Int32Array;
  event: Uint8Array;
  stack: Int32Array;
  weight: Float32Array;
  /** The longest duration of each event; 0 for samples, which are instants. */
  longest: readonly Nanoseconds[];
  /** How many samples each row represents. */
  every: number;
}

/** All samples of a pack; times are kept as differences in microseconds. */
export function samplesOf(pack: Pack): Samples {
  const table = pack.part("samples");
  if (!table) return emptySamples();
  const t = table.doubles("t").slice();
  const unit = table.meta("unit_ns", MICROSECOND);
  let now = 0;
  for (let row = 0; row < t.length; row += 1) {
    now += t[row];
    t[row] = now * unit;
  }
  const [thread, stack] = [table.integers("thread"), table.integers("stack")];
  const [event, weight, every] = [table.bytes("event"), table.floats("weight"), table.meta("thinned", 1)];
  const longest = pack.overview.events.map(() => 0);
  for (let row = 0; row < t.length; row += 1) {
    if (pack.overview.events[event[row]]?.lasting)
      longest[event[row]] = Math.max(longest[event[row]], weight[row] / every);
  }
  return { t, thread, event, stack, weight, longest, every };
}

function emptySamples(): Samples {
  return {
    t: new Float64Array(),
    thread: new Int32Array(),
    event: new Uint8Array(),
    stack: new Int32Array(),
    weight: new Float32Array(),
    longest: [],
    every: 1,
  };
}

/** The requested threads, for look-up by index; `null` means all of them. */
export function threadMask(threads: Threads): Uint8Array | null {
  if (threads === "all") return null;
  const mask = new Uint8Array(threads.reduce((most, index) => Math.max(most, index), -1) + 1);
  for (const index of threads) mask[index] = 1;
  return mask;
}

/**
 * Calls `visit` for each sample of the selection in time order, with its row, its weight and its time. Rows that
 * have a duration are cut to the selection.
 */
export function eachSample(
  samples: Samples,
  event: number,
  { from, to, threads }: Pick<Selection, "from" | "to" | "threads">,
  visit: (row: number, weight: number, begin: Nanoseconds, end: Nanoseconds) => void,
): void {
  const { t, thread, weight, every } = samples;
  const mask = threadMask(threads);
  const longest = samples.longest[event] ?? 0;
  const end = lowerBound(t, to);
  for (let row = lowerBound(t, from - longest); row < end; row += 1) {
    if (samples.event[row] !== event || (mask !== null && mask[thread[row]] !== 1)) continue;
    if (longest === 0) {
      visit(row, weight[row], t[row], t[row]);
      continue;
    }
    const [begin, last] = [Math.max(t[row], from), Math.min(t[row] + weight[row] / every, to)];
    if (last > begin) visit(row, (last - begin) * every, begin, last);
  }
}

/** Weight per thread and column. */
export function sampleHeat(
  samples: Samples,
  event: number,
  query: { from: Nanoseconds; to: Nanoseconds; columns: number; threads: Threads },
  isTime: boolean,
  isMeant: (stack: number) => boolean = () => true,
): Heat {
  const column = (query.to - query.from) / query.columns;
  const cells = new Map<number, number>();
  eachSample(samples, event, query, (row, weight, begin, end) => {
    if (!isMeant(samples.stack[row])) return;
    const first = samples.thread[row] * query.columns;
    eachPart(begin - query.from, end - query.from, column, weight, (at, part) => {
      const key = first + Math.min(at, query.columns - 1);
      cells.set(key, (cells.get(key) ?? 0) + part);
    });
  });
  const keys = Int32Array.from(cells.keys()).sort();
  const value = Float32Array.from(keys, (key) => cells.get(key) ?? 0);
  return {
    columns: query.columns,
    thread: keys.map((key) => Math.floor(key / query.columns)),
    column: keys.map((key) => key % query.columns),
    value,
    state: new Uint8Array(keys.length),
    full: isTime ? column : value.reduce((most, one) => Math.max(most, one), 0),
  };
}

/** Visits the cells of a given length that overlap a time, each with its part of the weight. */
function eachPart(
  begin: Nanoseconds,
  end: Nanoseconds,
  length: Nanoseconds,
  weight: number,
  visit: (cell: number, part: number) => void,
): void {
  const first = Math.floor(begin / length);
  if (end <= (first + 1) * length) {
    visit(first, weight);
    return;
  }
  const last = Math.ceil(end / length) - 1;
  for (let cell = first; cell <= last; cell += 1) {
    const overlap = Math.min(end, (cell + 1) * length) - Math.max(begin, cell * length);
    visit(cell, (weight * overlap) / (end - begin));
  }
}

/** Weight per second of the wall clock and fraction of it. */
export function sampleSubsecond(samples: Samples, event: number, query: Selection & { rows: number }): SubsecondHeat {
  const first = Math.floor(query.from / 1e9) * 1e9;
  const cells = new Map<number, number>();
  eachSample(samples, event, query, (_, weight, begin, end) => {
    eachPart(begin - first, end - first, 1e9 / query.rows, weight, (key, part) => {
      cells.set(key, (cells.get(key) ?? 0) + part);
    });
  });
  const keys = Int32Array.from(cells.keys()).sort();
  const weight = Float32Array.from(keys, (key) => cells.get(key) ?? 0);
  return {
    second: keys.map((key) => Math.floor(key / query.rows)),
    row: keys.map((key) => key % query.rows),
    weight,
    rows: query.rows,
    first,
    full: weight.reduce((most, one) => Math.max(most, one), 0),
  };
}
