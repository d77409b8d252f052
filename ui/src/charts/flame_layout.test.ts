import { describe, expect, test } from "vitest";
import { matcher } from "../base/search.ts";
import type { FlameRows } from "../data/source.ts";
import {
  foldRecursion,
  frameAt,
  graft,
  keptOfBaseline,
  layout,
  mainDepth,
  ofBaseline,
  search,
} from "./flame_layout.ts";

/** Rows from a drawing: indented names with their total. */
function drawn(text: string): FlameRows {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const indent = (line: string): number => (/^ */.exec(line)?.[0].length ?? 0) / 2;
  const first = Math.min(...lines.map(indent));
  const rows = lines.map((line) => {
    const [name, total] = line.trim().split(" ");
    return { depth: indent(line) - first, name, total: Number(total) };
  });
  const self = rows.map((row, at) => {
    let below = 0;
    for (let next = at + 1; next < rows.length && rows[next].depth > row.depth; next += 1) {
      if (rows[next].depth === row.depth + 1) below += rows[next].total;
    }
    return row.total - below;
  });
  return {
    depth: Int32Array.from(rows, ({ depth }) => depth),
    node: Int32Array.from(rows.keys()),
    name: rows.map(({ name }) => name),
    kind: rows.map(() => "compiled"),
    module: rows.map(() => ""),
    total: Float64Array.from(rows, ({ total }) => total),
    self: Float64Array.from(self),
    base: new Float64Array(),
    unit: "samples",
    samples: rows[0].total,
    cut: 0,
  };
}

/** Back to a drawing. */
function drawing({ depth, name, total }: FlameRows): string {
  return name.map((word, row) => `${"  ".repeat(depth[row])}${word} ${total[row]}`).join("\n");
}

const TREE = drawn(`
  all 10
    run 8
      parse 5
        scan 2
      write 3
    gc 2
`);

test("children stand side by side below their caller", () => {
  const flame = layout(TREE);
  expect([...flame.x]).toEqual([0, 0, 0, 0, 0.5, 0.8]);
  expect([...flame.width]).toEqual([1, 0.8, 0.5, 0.2, 0.3, 0.2]);
  expect([...flame.parent]).toEqual([-1, 0, 1, 2, 1, 0]);
  expect([...flame.end]).toEqual([6, 5, 4, 4, 5, 6]);
  expect(flame.deepest).toBe(3);
});

test.each([
  ["all 10\n  run 4\n  gc 3\n  jit 3", 0],
  ["all 10\n  run 10\n    parse 4\n    write 3\n    scan 3", 1],
  ["all 100\n  run 70\n    parse 60\n      scan 40\n      read 20\n  gc 30", 2],
  ["all 10\n  run 10\n    parse 10", 2],
])("stacks part below the frame that has most of them", (text, depth) => {
  expect(mainDepth(layout(drawn(text)))).toBe(depth);
});

test("of waits in the kernel the program's last frame is in sight", () => {
  const rows = drawn("all 10\n  run 10\n    memcpy 10\n      asm_exc_page_fault 10\n        do_fault 10");
  const kind = rows.name.map((name) => (name.includes("fault") ? "kernel" : "native"));
  expect(mainDepth(layout({ ...rows, kind }))).toBe(2);
  expect(mainDepth(layout({ ...rows, kind: rows.name.map(() => "kernel") }))).toBe(4);
});

test.each([
  [0, 0.1, 3, "scan"],
  [0, 0.6, 2, "write"],
  [0, 0.9, 1, "gc"],
  [0, 0.9, 2, undefined],
  [1, 0.9, 2, "write"],
  [1, 0.9, 0, "all"],
])("zoomed to row %d, at %d of the width, depth %d is %s", (zoomed, part, depth, name) => {
  const flame = layout(TREE);
  expect(flame.rows.name[frameAt(flame, zoomed, part, depth)]).toBe(name);
});

describe("what is looked for has a share of the whole", () => {
  test.each([
    ["scan", 0.2, 1],
    ["/^(run|scan)$/", 0.8, 2],
    ["SCAN", 0.2, 1],
    ["nothing", 0, 0],
    ["/(/", 0, 0],
  ])("%s", (typed, part, count) => {
    const found = search(layout(TREE), matcher(typed));
    expect(found.share).toBeCloseTo(part, 9);
    expect(found.count).toBe(count);
  });
});

test("recursion is drawn once, and what it calls is merged", () => {
  const recursive = drawn(`
    all 10
      visit 9
        visit 7
          visit 3
            leaf 2
          leaf 1
        leaf 1
      other 1
        visit 1
  `);
  expect(drawing(foldRecursion(recursive))).toBe(
    ["all 10", "  visit 9", "    leaf 4", "  other 1", "    visit 1"].join("\n"),
  );
  const folded = foldRecursion(recursive);
  expect([...folded.self]).toEqual([0, 5, 4, 0, 1]);
});

test("more of a frame takes the place of what was there", () => {
  const more = drawn(`
    parse 5
      scan 2
        read 1
      skip 0.001
  `);
  expect(drawing(graft(TREE, 2, more))).toBe(
    [
      "all 10",
      "  run 8",
      "    parse 5",
      "      scan 2",
      "        read 1",
      "      skip 0.001",
      "    write 3",
      "  gc 2",
    ].join("\n"),
  );
});

test("the baseline alone has the frames that it has, with their own weights", () => {
  const both = {
    depth: Int32Array.of(0, 1, 2, 2, 1),
    node: Int32Array.of(0, 1, 2, 3, 4),
    name: ["all", "run", "slow", "quick", "only slow"],
    kind: ["", "java", "java", "java", "java"],
    module: ["", "", "", "", ""],
    total: Float64Array.of(100, 60, 50, 10, 40),
    self: Float64Array.of(0, 0, 50, 10, 40),
    base: Float64Array.of(9, 9, 2, 4, Number.NaN),
    unit: "ns",
    samples: 7,
    cut: 0,
  };
  const kept = keptOfBaseline(both);
  expect(kept).toEqual([0, 1, 2, 3]);
  const rows = ofBaseline(both, kept);
  expect(rows.name).toEqual(["all", "run", "slow", "quick"]);
  expect([...rows.total]).toEqual([9, 9, 2, 4]);
  expect([...rows.self]).toEqual([0, 3, 2, 4]);
  expect([...rows.node]).toEqual([0, 1, 2, 3]);
});
