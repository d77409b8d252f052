import { tableFromArrays, tableToIPC } from "@uwdata/flechette";
import { expect, test } from "vitest";
import { Columns } from "../arrow.ts";
import { byRole, stateHeat } from "./cover.ts";

// A grid of one cell per nanosecond: thread 0 is in state 1, then 2; thread 1 a quarter of each cell in state 3.
const BYTES = tableToIPC(
  tableFromArrays({
    thread: Int32Array.of(0, 0, 0, 0, 1, 1, 1, 1),
    column: Uint16Array.of(0, 1, 2, 3, 0, 1, 2, 3),
    state: Uint8Array.of(1, 2, 2, 1, 3, 3, 3, 3),
    value: Float32Array.of(1, 1, 1, 1, 0.25, 0.25, 0.25, 0.25),
  }),
  { format: "stream" },
);

function cells(columns: number, to: number, threads: "all" | number[] = "all"): number[][] {
  const table = BYTES ? Columns.read(BYTES) : null;
  // Without metadata the grid would be one column from 0 to 1: say what it is.
  const meta: Record<string, number> = { from: 0, to: 4, columns: 4 };
  if (table) table.meta = (name, otherwise) => meta[name] ?? otherwise;
  const heat = stateHeat(table, { by: "state", event: "", from: 0, to, columns, threads });
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

test("busy threads of a role are added up per column", () => {
  const heat = {
    thread: Int32Array.of(0, 1, 1, 2),
    column: Int32Array.of(0, 0, 1, 1),
    value: Float32Array.of(1, 0.5, 1, 9),
    state: Uint8Array.of(1, 1, 0, 1),
    full: 1,
  };
  const roles = [
    { id: "handler", title: "" },
    { id: "gc", title: "" },
  ];
  const threads = ["handler", "handler", "gc"].map((role, index) => ({
    index,
    tid: index,
    name: "",
    role,
    cpu_ns: 0,
    samples: 0,
  }));
  const states = ["idle", "java"].map((color) => ({ id: color, title: "", color }));
  const sums = (by: "state" | "samples"): number[][] => {
    const { role, column, value } = byRole(heat, { roles, threads, states }, { by, columns: 2 });
    return [...role].map((one, cell) => [one, column[cell], value[cell]]);
  };
  expect(sums("state")).toEqual([
    [0, 0, 1.5],
    [1, 1, 9],
  ]);
  expect(sums("samples")).toEqual([
    [0, 0, 1.5],
    [0, 1, 1],
    [1, 1, 9],
  ]);
});

test("a recording without states", () => {
  expect(stateHeat(null, { by: "state", event: "", from: 0, to: 1, columns: 1, threads: "all" }).thread).toHaveLength(
    0,
  );
});
