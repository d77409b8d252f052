import { expect, test } from "vitest";
import { indented } from "../../../test/flame.ts";
import type { FlameRows } from "../../data/source.ts";
import { frameOf, rowOf } from "./zoomed.ts";

/** Rows out of indented names, each with its node. */
function rowsOf(...lines: string[]): FlameRows {
  return indented(lines, (line) => {
    const [name, node] = line.split(" ");
    return { name, node: Number(node) };
  });
}

// Node numbers of a server: from the root, 0, which is also the number of frames that only another recording has.
const SERVED = rowsOf("all 0", "  run 1", "    lock 2", "    park 5", "  other 0", "    lock 0");
// Node numbers of a file: from the first frame, 0; the root has none.
const FILED = rowsOf("all -1", "  run 0", "    lock 1", "    park 4");
// In an inverted graph, the node of a row is that of any of its paths.
const INVERTED = rowsOf("all 0", "  lock 2", "    run 1", "  park 5", "    run 1");

test.each([
  ["served", SERVED, false],
  ["from a file", FILED, false],
  ["from the leaves", INVERTED, true],
])("each frame of a graph %s is zoomed to by itself", (_, rows, isInverted) => {
  rows.name.forEach((name, row) => {
    const frame = frameOf(rows, row, isInverted);
    expect(frame?.name ?? "all").toBe(name);
    expect(rowOf(rows, frame, isInverted)).toBe(row);
  });
});

test("the first node of a file is a frame like any other", () => {
  expect(frameOf(FILED, 1, false)).toEqual({ node: 0, name: "run" });
});

test("the frame is the same when another time is picked, and no other one where it is missing", () => {
  const frame = frameOf(INVERTED, 4, true);
  const later = rowsOf("all 0", "  gc 9", "    run 1", "  park 5", "    main 7", "    run 1");
  expect(rowOf(later, frame, true)).toBe(5);
  expect(rowOf(rowsOf("all 0", "  lock 2", "    run 1"), frame, true)).toBe(0);
});

test("a node means nothing from the leaves", () => {
  expect(rowOf(INVERTED, { node: 1, name: "run" }, true)).toBe(0);
});
