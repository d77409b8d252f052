// Rows of a flame graph from a drawing, for tests of what is done with their frames.

import type { FlameRows } from "../src/data/source.ts";

interface Frame {
  name: string;
  kind?: string;
  node?: number;
}

/** A row for each line, as deep as it is indented, of nothing that weighs; `frameOf` reads what the line says. */
export function indented(lines: readonly string[], frameOf: (line: string) => Frame): FlameRows {
  const frames = lines.map((line) => frameOf(line.trim()));
  const nothing = new Float64Array(lines.length);
  return {
    depth: Int32Array.from(lines, (line) => (line.length - line.trimStart().length) / 2),
    node: Int32Array.from(frames, ({ node }) => node ?? 0),
    name: frames.map(({ name }) => name),
    kind: frames.map(({ kind }) => kind ?? "compiled"),
    module: lines.map(() => ""),
    total: nothing,
    self: nothing,
    base: nothing,
    unit: "ns",
    samples: 0,
    cut: 0,
  };
}
