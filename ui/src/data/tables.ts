// Converts Arrow tables to the answers that the page uses.

import type { Columns } from "./arrow.ts";
import type {
  CounterSeries,
  FlameRows,
  Heat,
  HottestFrames,
  Latency,
  LogLine,
  RoleHeat,
  SpanMarks,
  SpanTable,
  SubsecondHeat,
} from "./source.ts";

export function series(table: Columns): CounterSeries {
  return { t: table.doubles("t"), min: table.doubles("min"), max: table.doubles("max"), last: table.doubles("last") };
}

/** The series of several instances, which come as one table, one after the other. */
export function seriesOf(table: Columns, instances: readonly number[]): CounterSeries[] {
  const all = series(table);
  const instance = table.integers("instance");
  return instances.map((wanted) => {
    const first = instance.indexOf(wanted);
    const end = first < 0 ? first : instance.lastIndexOf(wanted) + 1;
    const part = (column: Float64Array): Float64Array => column.subarray(Math.max(first, 0), Math.max(end, 0));
    return { t: part(all.t), min: part(all.min), max: part(all.max), last: part(all.last) };
  });
}

export function roleCells(table: Columns): RoleHeat {
  return {
    columns: table.meta("columns", 1),
    role: table.integers("role"),
    column: table.integers("column"),
    value: table.floats("value"),
    state: table.bytes("state"),
    full: table.meta("full", 1),
  };
}

export function latencyOf(cells: Columns | null, lines: Columns | null): Latency {
  const none = new Float64Array();
  return {
    from: cells?.meta("from", 0) ?? 0,
    to: cells?.meta("to", 1) ?? 1,
    columns: cells?.meta("columns", 1) ?? 1,
    column: cells?.integers("column") ?? new Int32Array(),
    step: cells?.integers("step") ?? new Int32Array(),
    count: cells?.floats("count") ?? new Float32Array(),
    stepsPerDoubling: cells?.meta("steps_per_doubling", 4) ?? 4,
    lines: {
      t: lines?.doubles("t") ?? none,
      length: lines?.meta("column_ns", 1) ?? 1,
      count: lines?.doubles("count") ?? none,
      p50: lines?.doubles("p50") ?? none,
      p99: lines?.doubles("p99") ?? none,
      max: lines?.doubles("max") ?? none,
    },
  };
}

export function spanMarks(table: Columns): SpanMarks {
  return {
    t: table.doubles("t"),
    duration: table.doubles("duration"),
    thread: table.integers("thread"),
    kind: table.texts("kind"),
    name: table.texts("name"),
    merged: table.doubles("merged"),
    longest: table.doubles("longest"),
  };
}

export function spanTable(table: Columns): SpanTable {
  const [t, duration, thread] = [table.doubles("t"), table.doubles("duration"), table.integers("thread")];
  const [kind, name, detail] = [table.texts("kind"), table.texts("name"), table.texts("detail")];
  const [stack, kernelStack] = [table.integers("stack"), table.integers("kernel_stack")];
  const rows = kind.map((_, row) => ({
    t: t[row],
    duration: duration[row],
    thread: thread[row],
    kind: kind[row],
    name: name[row],
    stack: stack[row],
    kernelStack: kernelStack[row],
    detail: detail[row],
  }));
  const total = table.meta("total", rows.length);
  return { rows, total, totalDuration: table.meta("total_ns", Number.NaN), held: total, isPart: false };
}

export function heatCells(table: Columns): Heat {
  const value = table.floats("value");
  return {
    columns: table.meta("columns", 1),
    thread: table.integers("thread"),
    column: table.integers("column"),
    value,
    state: table.has("state") ? table.bytes("state") : new Uint8Array(table.length),
    ...(table.has("known") ? { known: table.floats("known") } : {}),
    full: table.meta("full", largest(value)),
  };
}

export function subsecondCells(table: Columns): SubsecondHeat {
  const weight = table.floats("weight");
  return {
    second: table.integers("second"),
    row: table.integers("row"),
    weight,
    rows: table.meta("rows", 50),
    first: table.meta("first", 0),
    full: largest(weight),
  };
}

export function flameRows(table: Columns): FlameRows {
  const base = table.has("base_total") ? table.doubles("base_total") : new Float64Array();
  return {
    depth: table.integers("depth"),
    node: table.has("node") ? table.integers("node") : new Int32Array(table.length),
    name: table.texts("name"),
    kind: table.texts("kind"),
    module: table.texts("module"),
    total: table.doubles("total"),
    self: table.doubles("self"),
    base: base.length > 0 && Number.isNaN(base[0]) ? new Float64Array() : base,
    unit: table.metaText("unit", "samples"),
    samples: table.meta("samples", 0),
    cut: table.meta("cut", 0),
  };
}

export function frameList(table: Columns): HottestFrames {
  const [name, kind, module] = [table.texts("name"), table.texts("kind"), table.texts("module")];
  const [self, total] = [table.doubles("self"), table.doubles("total")];
  const [baseSelf, baseTotal] = [table.doubles("base_self"), table.doubles("base_total")];
  const frames = name.map((_, row) => ({
    name: name[row],
    kind: kind[row],
    module: module[row],
    self: self[row],
    total: total[row],
    baseSelf: baseSelf[row],
    baseTotal: baseTotal[row],
  }));
  return { frames, total: table.meta("total", 0), unit: table.metaText("unit", "samples") };
}

export function logLines(table: Columns): LogLine[] {
  const [t, source, level] = [table.doubles("t"), table.texts("source"), table.texts("level")];
  const [kind, text] = [table.texts("class"), table.texts("text")];
  return text.map((line, row) => ({ t: t[row], source: source[row], level: level[row], class: kind[row], text: line }));
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let index = 0; index < values.length; index += 1) most = Math.max(most, values[index]);
  return most;
}
