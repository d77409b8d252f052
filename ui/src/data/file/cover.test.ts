import { tableFromArrays, tableToIPC } from "@uwdata/flechette";
import { expect, test } from "vitest";
import { threadsOf } from "../../../test/world.ts";
import { Columns } from "../arrow.ts";
import { byRole, roleStates, stateHeat } from "./cover.ts";

/** A grid of four columns of a nanosecond each. */
function gridOf(columns: Parameters<typeof tableFromArrays>[0]): Columns {
  const table = tableFromArrays(columns);
  table.schema.metadata = new Map(Object.entries({ from: "0", to: "4", columns: "4" }));
  const bytes = tableToIPC(table, { format: "stream" });
  if (!bytes) throw new Error("the table could not be written");
  return Columns.read(bytes);
}

// One cell per nanosecond: thread 0 is in state 1, then 2; thread 1 a quarter of each cell in state 3.
const GRID = gridOf({
  thread: Int32Array.of(0, 0, 0, 0, 1, 1, 1, 1),
  column: Uint16Array.of(0, 1, 2, 3, 0, 1, 2, 3),
  state: Uint8Array.of(1, 2, 2, 1, 3, 3, 3, 3),
  value: Float32Array.of(1, 1, 1, 1, 0.25, 0.25, 0.25, 0.25),
});

function cells(columns: number, to: number, threads: "all" | number[] = "all"): number[][] {
  const heat = stateHeat(GRID, { by: "state", event: "", from: 0, to, columns, threads });
  return [...heat.thread].map((thread, cell) => [thread, heat.column[cell], heat.state[cell], heat.value[cell]]);
}

test("cells that fall into one column are added up by state", () => {
  expect(cells(1, 4)).toEqual([
    [0, 0, 1, 0.5],
    [1, 0, 3, 0.25],
  ]);
  expect(cells(2, 4, [0])).toEqual([
    [0, 0, 1, 0.5],
    [0, 1, 2, 0.5],
  ]);
});

test("a cell that is wider than a column fills all of them", () => {
  expect(cells(4, 2, [0])).toEqual([
    [0, 0, 1, 1],
    [0, 1, 1, 1],
    [0, 2, 2, 1],
    [0, 3, 2, 1],
  ]);
});

test("how much of a column anything is known of is the mean over its cells", () => {
  const grid = gridOf({
    thread: Int32Array.of(0, 0, 0),
    column: Uint16Array.of(0, 1, 2),
    state: Uint8Array.of(1, 2, 2),
    value: Float32Array.of(0.5, 0.04, 1),
    known: Float32Array.of(0.75, 0.05, 1),
  });
  const { known } = stateHeat(grid, { by: "state", event: "", from: 0, to: 4, columns: 2, threads: "all" });
  expect([...(known ?? [])].map((part) => Number(part.toFixed(3)))).toEqual([0.4, 0.5]);
  const all = stateHeat(GRID, { by: "state", event: "", from: 0, to: 4, columns: 1, threads: "all" }).known;
  expect([...(all ?? [])]).toEqual([1, 1]);
});

test("samples of threads of a role are added up per column", () => {
  const heat = {
    columns: 2,
    thread: Int32Array.of(0, 1, 1, 2),
    column: Int32Array.of(0, 0, 1, 1),
    value: Float32Array.of(1, 0.5, 1, 9),
    state: Uint8Array.of(1, 1, 0, 1),
    full: 1,
  };
  const roles = ["handler", "gc"].map((id) => ({ id, title: "" }));
  const { role, column, value } = byRole(heat, { roles, threads: threadsOf(["handler", "h", 2], ["gc", "g", 1]) });
  expect([...role].map((one, cell) => [one, column[cell], value[cell]])).toEqual([
    [0, 0, 1.5],
    [0, 1, 1],
    [1, 1, 9],
  ]);
});

test("how many threads of a role are in which state", () => {
  const table = gridOf({
    role: Uint8Array.of(0, 0, 1),
    column: Uint16Array.of(0, 1, 3),
    state: Uint8Array.of(1, 1, 2),
    value: Float32Array.of(2, 4, 6),
  });
  const heat = roleStates(table, { by: "state", event: "", from: 0, to: 4, columns: 2, threads: "all" });
  expect([...heat.role].map((role, cell) => [role, heat.column[cell], heat.state[cell], heat.value[cell]])).toEqual([
    [0, 0, 1, 3],
    [1, 1, 2, 3],
  ]);
  expect(roleStates(null, { by: "state", event: "", from: 0, to: 4, columns: 2, threads: "all" }).role).toHaveLength(0);
});

test("a recording without states", () => {
  expect(stateHeat(null, { by: "state", event: "", from: 0, to: 1, columns: 1, threads: "all" }).thread).toHaveLength(
    0,
  );
});
