// Spans of a file: marks for lanes, and the table.

import { lowerBound } from "../../base/search.ts";
import type { CounterQuery, CounterSeries, SpanMarks, SpanRow, SpansQuery, SpanTable, TableQuery } from "../source.ts";
import { spanTable } from "../tables.ts";
import type { Pack } from "./pack.ts";
import { threadMask } from "./samples.ts";

/** All spans of a pack in time order. */
export function spansOf(pack: Pack): SpanRow[] {
  const table = pack.part("spans");
  return table ? spanTable(table).rows.sort((a, b) => a.t - b.t) : [];
}

function chosen(rows: readonly SpanRow[], query: Pick<SpansQuery, "from" | "to" | "kinds" | "threads">): SpanRow[] {
  const [kinds, mask] = [new Set(query.kinds), threadMask(query.threads)];
  return rows.filter(
    (row) =>
      row.t < query.to &&
      row.t + Math.max(row.duration, 1) > query.from &&
      (kinds.size === 0 || kinds.has(row.kind)) &&
      (mask === null || mask[row.thread] === 1),
  );
}

/** Spans as marks; those of one kind that are shorter than a pixel and touch become one. */
export function marks(rows: readonly SpanRow[], query: SpansQuery): SpanMarks {
  const pixel = (query.to - query.from) / Math.max(query.width, 1);
  const open = new Map<string, Mark>();
  const all: Mark[] = [];
  for (const row of chosen(rows, query)) {
    const last = open.get(row.kind);
    const isSmall = row.duration < pixel;
    if (last && isSmall && last.small && row.t <= last.end + pixel) {
      last.end = Math.max(last.end, row.t + row.duration);
      last.merged += 1;
      last.longest = Math.max(last.longest, row.duration);
      if (last.row.thread !== row.thread) last.thread = -1;
      continue;
    }
    const mark = {
      row,
      end: row.t + row.duration,
      small: isSmall,
      merged: 1,
      longest: row.duration,
      thread: row.thread,
    };
    if (isSmall) open.set(row.kind, mark);
    all.push(mark);
  }
  return columns(all);
}

interface Mark {
  row: SpanRow;
  end: number;
  small: boolean;
  merged: number;
  longest: number;
  thread: number;
}

function columns(all: readonly Mark[]): SpanMarks {
  return {
    t: Float64Array.from(all, (mark) => mark.row.t),
    duration: Float64Array.from(all, (mark) => mark.end - mark.row.t),
    thread: Int32Array.from(all, (mark) => mark.thread),
    kind: all.map((mark) => mark.row.kind),
    name: all.map((mark) => mark.row.name),
    merged: Float64Array.from(all, (mark) => mark.merged),
    longest: Float64Array.from(all, (mark) => mark.longest),
  };
}

/** The rows of the table that are asked for. */
export function pageOf(rows: readonly SpanRow[], query: TableQuery, threadNames: readonly string[]): SpanTable {
  const wanted = query.find.toLowerCase();
  const found = chosen(rows, query).filter(
    (row) =>
      wanted === "" ||
      [row.name, row.kind, row.detail, threadNames[row.thread] ?? ""].some((text) =>
        text.toLowerCase().includes(wanted),
      ),
  );
  const sign = query.order === "asc" ? 1 : -1;
  found.sort((a, b) => sign * ORDERS[query.sort](a, b));
  const totalDuration = found.reduce((sum, row) => sum + row.duration, 0);
  return { rows: found.slice(query.offset, query.offset + query.limit), total: found.length, totalDuration };
}

const ORDERS: Record<TableQuery["sort"], (a: SpanRow, b: SpanRow) => number> = {
  duration: (a, b) => a.duration - b.duration,
  time: (a, b) => a.t - b.t,
  name: (a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)),
  thread: (a, b) => a.thread - b.thread,
};

/** The part of a counter that lies in the asked time, and the point before it, which still holds there. */
export function clipped(all: CounterSeries, { from, to }: CounterQuery): CounterSeries {
  const [first, end] = [lowerBound(all.t, from), lowerBound(all.t, to)];
  const part = (column: Float64Array): Float64Array => column.subarray(Math.max(first - 1, 0), end + 1);
  return { t: part(all.t), min: part(all.min), max: part(all.max), last: part(all.last) };
}
