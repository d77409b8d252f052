// Thread states of a single file: a grid that was computed when the file was written.

import type { Columns } from "../arrow.ts";
import type { Overview } from "../overview.ts";
import type { Heat, HeatQuery, RoleHeat } from "../source.ts";
import { threadMask } from "./samples.ts";

/** An upper bound of the number of states: they share a key with thread and column. */
const STATES = 256;

/** The grid on the requested columns: the state with the largest part of each cell, and how much of the cell is known. */
export function stateHeat(table: Columns | null, query: HeatQuery): Heat {
  const best = new Map<number, { value: number; state: number }>();
  for (const [key, value] of table ? partsOf(table, query) : []) {
    const cell = Math.floor(key / STATES);
    if ((best.get(cell)?.value ?? 0) < value) best.set(cell, { value, state: key % STATES });
  }
  const known = new Map<number, number>();
  for (const [key, value] of table?.has("known") ? partsOf(table, query, "thread", "known") : []) {
    const cell = Math.floor(key / STATES);
    known.set(cell, (known.get(cell) ?? 0) + value);
  }
  const keys = Int32Array.from(best.keys()).sort();
  return {
    columns: query.columns,
    thread: keys.map((key) => Math.floor(key / query.columns)),
    column: keys.map((key) => key % query.columns),
    value: Float32Array.from(keys, (key) => best.get(key)?.value ?? 0),
    state: Uint8Array.from(keys, (key) => best.get(key)?.state ?? 0),
    known: Float32Array.from(keys, (key) => known.get(key) ?? 1),
    full: 1,
  };
}

/** How many threads of each role were in which state: the grid of roles on the requested columns. */
export function roleStates(table: Columns | null, query: HeatQuery): RoleHeat {
  const parts = table ? partsOf(table, { ...query, threads: "all" }, "role") : new Map<number, number>();
  const keys = Int32Array.from(parts.keys()).sort();
  const cells = keys.map((key) => Math.floor(key / STATES));
  return {
    columns: query.columns,
    role: cells.map((cell) => Math.floor(cell / query.columns)),
    column: cells.map((cell) => cell % query.columns),
    value: Float32Array.from(keys, (key) => parts.get(key) ?? 0),
    state: Uint8Array.from(keys, (key) => key % STATES),
    full: 1,
  };
}

/** Sums the cells of samples by role. */
export function byRole(heat: Heat, { roles, threads }: Pick<Overview, "roles" | "threads">): RoleHeat {
  const { columns } = heat;
  const places = new Map(roles.map(({ id }, place) => [id, place]));
  const roleOf = threads.map(({ role }) => places.get(role) ?? 0);
  const sums = new Float64Array(roles.length * columns);
  for (let cell = 0; cell < heat.thread.length; cell += 1) {
    sums[roleOf[heat.thread[cell]] * columns + heat.column[cell]] += heat.value[cell];
  }
  const filled = Int32Array.from(sums.keys()).filter((index) => sums[index] > 0);
  return {
    columns,
    role: filled.map((index) => Math.floor(index / columns)),
    column: filled.map((index) => index % columns),
    value: Float32Array.from(filled, (index) => sums[index]),
    state: new Uint8Array(filled.length).fill(STATES - 1),
    full: heat.full,
  };
}

/** The part of each column that each state of each thread or role has, or the part that is known. */
function partsOf(table: Columns, query: HeatQuery, rows = "thread", values = "value"): Map<number, number> {
  const parts = new Map<number, number>();
  const [from, to] = [table.meta("from", 0), table.meta("to", 1)];
  const pixel = (query.to - query.from) / query.columns;
  const cell = (to - from) / table.meta("columns", 1) / pixel;
  const mask = threadMask(query.threads);
  const [thread, column] = [table.integers(rows), table.integers("column")];
  const [state, value] = [table.bytes("state"), table.floats(values)];
  for (let row = 0; row < thread.length; row += 1) {
    if (mask && mask[thread[row]] !== 1) continue;
    const begin = (from - query.from) / pixel + column[row] * cell;
    const last = Math.min(begin + cell, query.columns);
    for (let at = Math.max(Math.floor(begin), 0); at < last; at += 1) {
      const overlap = Math.min(at + 1, begin + cell) - Math.max(at, begin);
      const key = (thread[row] * query.columns + at) * STATES + state[row];
      parts.set(key, (parts.get(key) ?? 0) + overlap * value[row]);
    }
  }
  return parts;
}
