// Spans that a file leaves out: for each kind, how many began when, and how long they were.

import { lowerBound } from "../../base/search.ts";
import type { SpansQuery } from "../source.ts";
import type { Pack } from "./pack.ts";

/** Spans of a kind that began in one column. */
export interface LeftOut {
  kind: string;
  t: number;
  /** The length of the column. */
  column: number;
  count: number;
  total: number;
  longest: number;
}

/** All of them by kind, sorted by time. */
export function leftOutOf(pack: Pack): Map<string, LeftOut[]> {
  const table = pack.part("span_density");
  const kinds = new Map<string, LeftOut[]>();
  if (!table || table.length === 0) return kinds;
  const [kind, t, count] = [table.texts("kind"), table.doubles("t"), table.doubles("count")];
  const [total, longest] = [table.doubles("total_ns"), table.doubles("longest_ns")];
  const column = table.meta("column_ns", 1);
  kind.forEach((word, row) => {
    const cell = { kind: word, t: t[row], column, count: count[row], total: total[row], longest: longest[row] };
    const known = kinds.get(word);
    if (known) known.push(cell);
    else kinds.set(word, [cell]);
  });
  return kinds;
}

/** Those that match a query, regardless of thread. A column that is partly in its time counts in part. */
export function leftOutWithin(
  all: ReadonlyMap<string, readonly LeftOut[]>,
  { from, to, kinds }: Pick<SpansQuery, "from" | "to" | "kinds">,
): LeftOut[] {
  const asked = kinds.length === 0 ? [...all.keys()] : kinds;
  return asked.flatMap((kind) => {
    const cells = all.get(kind) ?? [];
    const times = cells.map(({ t }) => t);
    const column = cells[0]?.column ?? 0;
    const within = cells.slice(lowerBound(times, from - column), lowerBound(times, to));
    return within.map((cell) => partOf(cell, from, to)).filter(({ count }) => count > 0);
  });
}

function partOf(cell: LeftOut, from: number, to: number): LeftOut {
  const [begin, end] = [Math.max(cell.t, from), Math.min(cell.t + cell.column, to)];
  const part = Math.max(end - begin, 0) / cell.column;
  if (part >= 1) return cell;
  return { ...cell, t: begin, column: end - begin, count: Math.round(cell.count * part), total: cell.total * part };
}
