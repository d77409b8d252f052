// Samples of a file, as columns in time order, and questions about them that need no stacks.

import type { Nanoseconds } from "../../base/quantities.ts";
import { lowerBound } from "../../base/search.ts";
import type { Heat, Selection, SubsecondHeat, Threads } from "../source.ts";
import type { Pack } from "./pack.ts";

/** Unless the pack says another unit, which it does for very long recordings. */
const MICROSECOND = 1_000;

export interface Samples {
  t: Float64Array;
  thread: Int32Array;
  event: Uint8Array;
  stack: Int32Array;
  weight: Float32Array;
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
  return { t, thread, event: table.bytes("event"), stack, weight: table.floats("weight") };
}

function emptySamples(): Samples {
  return {
    t: new Float64Array(),
    thread: new Int32Array(),
    event: new Uint8Array(),
    stack: new Int32Array(),
    weight: new Float32Array(),
  };
}

/** Which threads are asked for, to be looked up by index; `null` means all of them. */
export function threadMask(threads: Threads): Uint8Array | null {
  if (threads === "all") return null;
  const mask = new Uint8Array(threads.reduce((most, index) => Math.max(most, index), -1) + 1);
  for (const index of threads) mask[index] = 1;
  return mask;
}

/** Calls `visit` with the row of each sample of the selection, in time order. */
export function eachSample(
  samples: Samples,
  event: number,
  { from, to, threads }: Pick<Selection, "from" | "to" | "threads">,
  visit: (row: number) => void,
): void {
  const mask = threadMask(threads);
  const end = lowerBound(samples.t, to);
  for (let row = lowerBound(samples.t, from); row < end; row += 1) {
    if (samples.event[row] === event && (mask === null || mask[samples.thread[row]] === 1)) visit(row);
  }
}

/** Weight per thread and column. */
export function sampleHeat(
  samples: Samples,
  event: number,
  query: { from: Nanoseconds; to: Nanoseconds; columns: number; threads: Threads },
  isTime: boolean,
): Heat {
  const column = (query.to - query.from) / query.columns;
  const cells = new Map<number, number>();
  eachSample(samples, event, query, (row) => {
    const key = samples.thread[row] * query.columns + Math.floor((samples.t[row] - query.from) / column);
    cells.set(key, (cells.get(key) ?? 0) + samples.weight[row]);
  });
  const keys = Int32Array.from(cells.keys()).sort();
  const value = Float32Array.from(keys, (key) => cells.get(key) ?? 0);
  return {
    thread: keys.map((key) => Math.floor(key / query.columns)),
    column: keys.map((key) => key % query.columns),
    value,
    state: new Uint8Array(keys.length),
    full: isTime ? column : value.reduce((most, one) => Math.max(most, one), 0),
  };
}

/** Weight per second of the wall clock and fraction of it. */
export function sampleSubsecond(samples: Samples, event: number, query: Selection & { rows: number }): SubsecondHeat {
  const first = Math.floor(query.from / 1e9) * 1e9;
  const cells = new Map<number, number>();
  eachSample(samples, event, query, (row) => {
    const at = samples.t[row] - first;
    const key = Math.floor(at / 1e9) * query.rows + Math.floor(((at % 1e9) / 1e9) * query.rows);
    cells.set(key, (cells.get(key) ?? 0) + samples.weight[row]);
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
