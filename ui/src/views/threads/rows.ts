// The rows of the thread lanes: roles, and below each role its busiest threads, or all of them. Pure.

import type { CssPixels } from "../../base/quantities.ts";
import { lowerBound } from "../../base/search.ts";
import type { Overview, Thread } from "../../data/overview.ts";

/** How many threads of a role are shown by default. Paper shows more, because the reader cannot click. */
const FIRST_THREADS = 3;
const FIRST_ON_PAPER = 60;
/** The role of threads outside the process: these are folded. */
const OTHERS = "kernel";

export const ROW_HEIGHT: CssPixels = 16;
export const ROLE_HEIGHT: CssPixels = 26;
const MORE_HEIGHT: CssPixels = 20;

export type Row =
  | { kind: "role"; id: string; title: string; threads: readonly Thread[] }
  | { kind: "thread"; thread: Thread }
  | { kind: "more"; role: string; hidden: number };

export interface Shown {
  /** Roles whose threads are all shown. */
  opened: readonly string[];
  /** The indexes of threads that are shown above all others, as text. */
  rows: readonly string[];
  isForPaper?: boolean;
}

export interface Rows {
  rows: readonly Row[];
  /** The upper edge of each row, and at the end the total height. */
  tops: readonly CssPixels[];
}

export function rowsOf({ roles, threads }: Pick<Overview, "roles" | "threads">, shown: Shown): Rows {
  const byRole = groupedByRole(threads);
  const above = threads.filter(({ index }) => shown.rows.includes(String(index)));
  const rows: Row[] = above.map((thread) => ({ kind: "thread", thread }));
  for (const { id, title } of roles) {
    const members = byRole.get(id) ?? [];
    if (members.length === 0) continue;
    const first = firstOf(id, members.length, shown.isForPaper ? FIRST_ON_PAPER : FIRST_THREADS);
    const named = shown.opened.includes(id) ? members : members.slice(0, first);
    rows.push({ kind: "role", id, title, threads: members });
    rows.push(...named.map((thread) => ({ kind: "thread" as const, thread })));
    if (first < members.length) rows.push({ kind: "more", role: id, hidden: members.length - named.length });
  }
  const tops = [0];
  for (const row of rows) tops.push((tops.at(-1) ?? 0) + heightOf(row));
  return { rows, tops };
}

function groupedByRole(threads: readonly Thread[]): ReadonlyMap<string, readonly Thread[]> {
  const byRole = new Map<string, Thread[]>();
  for (const thread of threads) {
    const members = byRole.get(thread.role);
    if (members) members.push(thread);
    else byRole.set(thread.role, [thread]);
  }
  return byRole;
}

/** How many threads of a role are shown by default. A single hidden thread is shown, as the note would need a line too. */
function firstOf(role: string, count: number, most: number): number {
  if (role === OTHERS) return 0;
  return count <= most + 1 ? count : most;
}

function heightOf(row: Row): CssPixels {
  if (row.kind === "thread") return ROW_HEIGHT;
  return row.kind === "role" ? ROLE_HEIGHT : MORE_HEIGHT;
}

/** The rows between two heights: the first, and the one after the last. */
export function visibleRows({ rows, tops }: Rows, from: CssPixels, to: CssPixels): [first: number, end: number] {
  const first = Math.max(lowerBound(tops, from) - 1, 0);
  return [Math.min(first, rows.length), Math.min(lowerBound(tops, to), rows.length)];
}
