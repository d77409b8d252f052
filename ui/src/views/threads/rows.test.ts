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
const OTHERS = { roles: [{ id: "kernel", title: "Others" }], threads: threadsOf(["kernel", "bash", 2]) };

function words({ rows }: Rows): string[] {
  return rows.map((row) => {
    if (row.kind === "role") return row.title;
    return row.kind === "thread" ? row.thread.name : `${row.hidden} more`;
  });
}

test("a role shows its first threads, and all when asked", () => {
  const folded = rowsOf(KNOWN, { opened: [], rows: [] });
  expect(words(folded)).toEqual(["Handlers", "h-0", "h-1", "h-2", "1997 more", "GC", "g-0", "g-1", "g-2"]);
  expect(rowsOf(KNOWN, { opened: ["handler"], rows: [] }).rows).toHaveLength(1 + 2_000 + 1 + 1 + 3);
});

test("what is no thread of the process is folded, and what is pinned stands above", () => {
  expect(words(rowsOf(OTHERS, { opened: [], rows: [] }))).toEqual(["Others", "2 more"]);
  expect(words(rowsOf(OTHERS, { opened: ["kernel"], rows: ["1"] }))).toEqual([
    "bash-1",
    "Others",
    "bash-0",
    "bash-1",
    "0 more",
  ]);
});

test("only the rows in sight are drawn", () => {
  const all = rowsOf(KNOWN, { opened: ["handler"], rows: [] });
  const [first, end] = visibleRows(all, 1_600, 2_000);
  expect(all.tops[first]).toBeLessThanOrEqual(1_600);
  expect(all.tops[end]).toBeGreaterThanOrEqual(2_000);
  expect(end - first).toBeLessThan(30);
  expect(visibleRows(all, 0, 1e9)).toEqual([0, all.rows.length]);
});
