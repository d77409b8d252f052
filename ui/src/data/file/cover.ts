// States of threads of a file: a grid that was computed when the file was written.

import type { Columns } from "../arrow.ts";
import type { Heat, HeatQuery } from "../source.ts";
import { threadMask } from "./samples.ts";

/** The grid on the columns that are asked for. Where several cells fall into one column the largest part wins. */
export function stateHeat(table: Columns | null, query: HeatQuery): Heat {
  const best = new Map<number, { value: number; state: number }>();
  if (table) {
    const [from, to, columns] = [table.meta("from", 0), table.meta("to", 1), table.meta("columns", 1)];
    const cell = (to - from) / columns;
    const pixel = (query.to - query.from) / query.columns;
    const mask = threadMask(query.threads);
    const [thread, column] = [table.integers("thread"), table.integers("column")];
    const [state, value] = [table.bytes("state"), table.floats("value")];
    for (let row = 0; row < thread.length; row += 1) {
      if (mask && mask[thread[row]] !== 1) continue;
      const begin = (from + column[row] * cell - query.from) / pixel;
      const first = Math.max(Math.floor(begin), 0);
      const last = Math.min(Math.max(Math.ceil(begin + cell / pixel), first + 1), query.columns);
      for (let at = first; at < last; at += 1) {
        const key = thread[row] * query.columns + at;
        if ((best.get(key)?.value ?? 0) < value[row]) best.set(key, { value: value[row], state: state[row] });
      }
    }
  }
  const keys = Int32Array.from(best.keys()).sort();
  return {
    thread: keys.map((key) => Math.floor(key / query.columns)),
    column: keys.map((key) => key % query.columns),
    value: Float32Array.from(keys, (key) => best.get(key)?.value ?? 0),
    state: Uint8Array.from(keys, (key) => best.get(key)?.state ?? 0),
    full: 1,
  };
}
