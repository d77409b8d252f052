import { expect, test } from "vitest";
import { threadsOf } from "../../../test/world.ts";
import { type Rows, rowsOf, visibleRows } from "./rows.ts";

const KNOWN = {
  roles: [
    { id: "handler", title: "Handlers" },
    { id: "gc", title: "GC" },
    { id: "native", title: "Native" },
  ],
  threads: threadsOf(["handler", "h", 2_000], ["gc", "g", 3]),
};

function words({ rows }: Rows): string[] {
  return rows.map((row) => {
    if (row.kind === "role") return row.title;
    return row.kind === "thread" ? row.thread.name : `${row.hidden} more`;
  });
}

test("a role shows its first threads, and all when asked", () => {
  const folded = rowsOf(KNOWN, new Set());
  expect(words(folded)).toEqual(["Handlers", "h-0", "h-1", "h-2", "1997 more", "GC", "g-0", "g-1", "g-2"]);
  expect(rowsOf(KNOWN, new Set(["handler"])).rows).toHaveLength(1 + 2_000 + 1 + 1 + 3);
});

test("only the rows in sight are drawn", () => {
  const all = rowsOf(KNOWN, new Set(["handler"]));
  const [first, end] = visibleRows(all, 1_600, 2_000);
  expect(all.tops[first]).toBeLessThanOrEqual(1_600);
  expect(all.tops[end]).toBeGreaterThanOrEqual(2_000);
  expect(end - first).toBeLessThan(30);
  expect(visibleRows(all, 0, 1e9)).toEqual([0, all.rows.length]);
});
