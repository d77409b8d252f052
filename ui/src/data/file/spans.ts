// The spans of a file: marks for lanes, and the table.

import { lowerBound } from "../../base/search.ts";
import type { CounterQuery, CounterSeries, SpanMarks, SpanRow, SpansQuery, SpanTable, TableQuery } from "../source.ts";
import { spanTable } from "../tables.ts";
import { type LeftOut, leftOutWithin } from "./density.ts";
import type { Pack } from "./pack.ts";
import { threadMask } from "./samples.ts";

type LeftOutSpans = ReadonlyMap<string, readonly LeftOut[]>;

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

/** Spans as marks. Touching spans of one kind that are shorter than a pixel become one mark, as do left out spans. */
export function marks(rows: readonly SpanRow[], leftOut: LeftOutSpans, query: SpansQuery): SpanMarks {
  const pixel = (query.to - query.from) / Math.max(query.width, 1);
  const open = new Map<string, Mark>();
  const all: Mark[] = [];
  for (const row of chosen(rows, query)) {
    const last = open.get(row.kind);
    const isSmall = row.duration < pixel;
    if (last && isSmall && last.small && row.t <= last.end + pixel) {
      last.end = Math.max(last.end, row.t + row.duration);
      last.merged += 1;
      if (row.duration > last.longest) [last.row, last.longest] = [row, row.duration];
      if (last.row.thread !== row.thread) last.thread = -1;
      continue;
    }
    const mark = {
      row,
      begin: row.t,
      end: row.t + row.duration,
      small: isSmall,
      merged: 1,
      longest: row.duration,
      thread: row.thread,
    };
    if (isSmall) open.set(row.kind, mark);
    all.push(mark);
  }
  if (query.threads === "all") all.unshift(...leftOutWithin(leftOut, query).map(markOf));
  return columns(all);
}

/** How a column of left out spans is drawn: as many short spans that touch. */
function markOf({ kind, t, column, count, longest }: LeftOut): Mark {
  const row = { t, duration: column, thread: -1, kind, name: "", stack: 0, kernelStack: 0, detail: "" };
  return { row, begin: t, end: t + Math.max(column, longest), small: true, merged: count, longest, thread: -1 };
}

interface Mark {
  /** The longest of them. */
  row: SpanRow;
  begin: number;
  end: number;
  small: boolean;
  merged: number;
  longest: number;
  thread: number;
}

function columns(all: readonly Mark[]): SpanMarks {
  return {
    t: Float64Array.from(all, (mark) => mark.begin),
    duration: Float64Array.from(all, (mark) => mark.end - mark.begin),
    thread: Int32Array.from(all, (mark) => mark.thread),
    kind: all.map((mark) => mark.row.kind),
    name: all.map((mark) => mark.row.name),
    merged: Float64Array.from(all, (mark) => mark.merged),
    longest: Float64Array.from(all, (mark) => mark.longest),
  };
}

/** The requested rows of the table. */
export function pageOf(
  rows: readonly SpanRow[],
  leftOut: LeftOutSpans,
  query: TableQuery,
  threadNames: readonly string[],
): SpanTable {
  const wanted = query.find.toLowerCase();
  const { took } = query;
  const found = chosen(rows, query).filter(
    (row) =>
      (!took || (row.duration >= took.from && row.duration <= took.to)) &&
      (wanted === "" ||
        [row.name, row.kind, row.detail, threadNames[row.thread] ?? ""].some((text) =>
          text.toLowerCase().includes(wanted),
        )),
  );
  const sign = query.order === "asc" ? 1 : -1;
  found.sort((a, b) => sign * ORDERS[query.sort](a, b));
  const others = leftOutWithin(leftOut, query);
  const isSearched = wanted !== "" || query.threads !== "all" || (took ?? null) !== null;
  const known = isSearched ? [] : others;
  return {
    rows: found.slice(query.offset, query.offset + query.limit),
    total: found.length + known.reduce((sum, { count }) => sum + count, 0),
    totalDuration: found.reduce((sum, row) => sum + row.duration, 0) + known.reduce((sum, { total }) => sum + total, 0),
    held: found.length,
    isPart: isSearched && others.length > 0,
  };
}

const ORDERS: Record<TableQuery["sort"], (a: SpanRow, b: SpanRow) => number> = {
  duration: (a, b) => a.duration - b.duration,
  time: (a, b) => a.t - b.t,
  name: (a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)),
  thread: (a, b) => a.thread - b.thread,
};

/** The rows of a counter in the requested time, and the row before it, which is still valid there. */
export function clipped(all: CounterSeries, { from, to }: CounterQuery): CounterSeries {
  const [first, end] = [lowerBound(all.t, from), lowerBound(all.t, to)];
  const part = (column: Float64Array): Float64Array => column.subarray(Math.max(first - 1, 0), end + 1);
  return { t: part(all.t), min: part(all.min), max: part(all.max), last: part(all.last) };
}
