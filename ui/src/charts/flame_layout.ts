// Positions of the frames of a flame graph. Pure: rows in, positions out.

import type { FlameRows } from "../data/source.ts";

export interface FlameLayout {
  rows: FlameRows;
  /** The left edge of each frame as a part of the root's width. */
  x: Float64Array;
  width: Float64Array;
  parent: Int32Array;
  /** The row after the last frame below each frame. */
  end: Int32Array;
  deepest: number;
}

/** The numbers of the rows that are in the baseline. */
export function keptOfBaseline(rows: FlameRows): number[] {
  return [...rows.depth.keys()].filter((row) => row === 0 || rows.base[row] > 0);
}

/** The rows `kept` with their baseline values only. The baseline is scaled to the length of what it is compared with. */
export function ofBaseline(rows: FlameRows, kept: readonly number[]): FlameRows {
  const column = (of: Float64Array): Float64Array => Float64Array.from(kept, (row) => of[row] || 0);
  const base = column(rows.base);
  const depth = Int32Array.from(kept, (row) => rows.depth[row]);
  return {
    ...rows,
    depth,
    node: Int32Array.from(kept, (row) => rows.node[row]),
    name: kept.map((row) => rows.name[row]),
    kind: kept.map((row) => rows.kind[row]),
    module: kept.map((row) => rows.module[row]),
    total: base,
    self: withoutChildren(depth, base),
    base: new Float64Array(),
  };
}

/** The weight of each frame without that of the frames below it. */
function withoutChildren(depth: Int32Array, total: Float64Array): Float64Array {
  const self = total.slice();
  const open: number[] = [];
  depth.forEach((at, row) => {
    open.length = at;
    const caller = open.at(-1);
    if (caller !== undefined) self[caller] = Math.max(self[caller] - total[row], 0);
    open.push(row);
  });
  return self;
}

/** Places children side by side from the left edge of their caller, in row order. */
export function layout(rows: FlameRows): FlameLayout {
  const count = rows.depth.length;
  const whole = rows.total[0] || 1;
  const [x, width] = [new Float64Array(count), new Float64Array(count)];
  const [parent, end] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(count)];
  const open: number[] = [];
  const filled = new Float64Array(count);
  let deepest = 0;
  for (let row = 0; row < count; row += 1) {
    while (open.length > rows.depth[row]) end[open.pop() as number] = row;
    const caller = open.at(-1) ?? -1;
    parent[row] = caller;
    width[row] = rows.total[row] / whole;
    if (caller >= 0) {
      x[row] = x[caller] + filled[caller];
      filled[caller] += width[row];
    }
    open.push(row);
    deepest = Math.max(deepest, rows.depth[row]);
  }
  return { rows, x, width, parent, end, deepest };
}

/** The rows from a frame up to the root. */
export function pathTo({ parent }: FlameLayout, row: number): number[] {
  const path = [];
  for (let at = row; at >= 0; at = parent[at]) path.push(at);
  return path;
}

/** The frame at a position: `part` of the width of the zoomed frame, at a depth. */
export function frameAt(flame: FlameLayout, zoomed: number, part: number, depth: number): number {
  const { rows, x, width } = flame;
  const path = pathTo(flame, zoomed);
  if (depth <= rows.depth[zoomed]) return path.find((row) => rows.depth[row] === depth) ?? -1;
  const at = x[zoomed] + part * width[zoomed];
  for (let row = zoomed; row < flame.end[zoomed]; row += 1) {
    if (rows.depth[row] === depth && at >= x[row] && at < x[row] + width[row]) return row;
  }
  return -1;
}

/**
 * The depth down to which a single frame has at least half of the weight. The frames above it only lead there, such as
 * the start of a thread. Stops where the program enters the kernel: the program's call says more than the kernel's frames.
 */
export function mainDepth({ rows, end }: FlameLayout): number {
  let row = 0;
  const entersKernel = (): boolean => row > 0 && rows.kind[row] !== "kernel" && rows.kind[row + 1] === "kernel";
  // Children are sorted, the largest first.
  while (end[row] > row + 1 && rows.total[row + 1] >= 0.5 * rows.total[0] && !entersKernel()) row += 1;
  return rows.depth[row] ?? 0;
}

export interface Matches {
  /** 1 for each row whose name matches. */
  rows: Uint8Array;
  /** Their part of the whole; nested matches count once. */
  share: number;
  count: number;
}

/** Finds the frames whose name matches, and their time. */
export function search({ rows, end }: FlameLayout, wanted: ((name: string) => boolean) | null): Matches {
  const matches: Matches = { rows: new Uint8Array(rows.depth.length), share: 0, count: 0 };
  if (!wanted) return matches;
  const known = new Map<string, boolean>();
  let counted = 0;
  for (let row = 1; row < rows.depth.length; row += 1) {
    const name = rows.name[row];
    let isMatch = known.get(name);
    if (isMatch === undefined) {
      isMatch = wanted(name);
      known.set(name, isMatch);
    }
    if (!isMatch) continue;
    matches.rows[row] = 1;
    matches.count += 1;
    if (row >= counted) {
      matches.share += rows.total[row] / (rows.total[0] || 1);
      counted = end[row];
    }
  }
  return matches;
}

/** A frame while recursion is folded: the row that it is drawn like, and its sums. */
interface Folded {
  row: number;
  total: number;
  self: number;
  base: number;
  children: Map<string, Folded>;
}

/** Folds recursion: a frame that calls itself is drawn once, and everything it calls is side by side below. */
export function foldRecursion(rows: FlameRows): FlameRows {
  const order = inPreorder(foldedTree(rows));
  const column = (of: (node: Folded) => number): Float64Array => Float64Array.from(order, ({ node }) => of(node));
  return {
    ...rows,
    depth: Int32Array.from(order, ({ depth }) => depth),
    node: Int32Array.from(order, ({ node }) => rows.node[node.row]),
    name: order.map(({ node }) => rows.name[node.row]),
    kind: order.map(({ node }) => rows.kind[node.row]),
    module: order.map(({ node }) => rows.module[node.row]),
    total: column((node) => node.total),
    self: column((node) => node.self),
    base: rows.base.length > 0 ? column((node) => node.base) : rows.base,
  };
}

function foldedTree(rows: FlameRows): Folded {
  const look = (row: number): string => `${rows.kind[row]}\u0000${rows.name[row]}`;
  const node = (row: number): Folded => ({ row, total: 0, self: 0, base: 0, children: new Map() });
  const root = node(0);
  const path: Folded[] = [];
  for (let row = 0; row < rows.depth.length; row += 1) {
    path.length = rows.depth[row];
    const caller = path.at(-1);
    const isRecursion = caller !== undefined && caller !== root && look(caller.row) === look(row);
    const at = isRecursion || !caller ? (caller ?? root) : (caller.children.get(look(row)) ?? node(row));
    at.self += rows.self[row];
    if (!isRecursion) {
      at.total += rows.total[row];
      at.base += rows.base[row] ?? 0;
      caller?.children.set(look(row), at);
    }
    path.push(at);
  }
  return root;
}

function inPreorder(root: Folded): { node: Folded; depth: number }[] {
  const order: { node: Folded; depth: number }[] = [];
  const open = [{ node: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    order.push(next);
    const children = [...node.children.values()].sort((a, b) => b.total - a.total).reverse();
    open.push(...children.map((child) => ({ node: child, depth: depth + 1 })));
  }
  return order;
}

/** Replaces the subtree of `row` by a more detailed one. Rows before it keep their numbers. */
export function graft(rows: FlameRows, row: number, more: FlameRows): FlameRows {
  let end = row + 1;
  while (end < rows.depth.length && rows.depth[end] > rows.depth[row]) end += 1;
  const doubles = (old: Float64Array, added: Float64Array): Float64Array =>
    old.length > 0 ? Float64Array.from([...old.subarray(0, row), ...added, ...old.subarray(end)]) : old;
  const integers = (old: Int32Array, added: Int32Array): Int32Array =>
    Int32Array.from([...old.subarray(0, row), ...added, ...old.subarray(end)]);
  const texts = (old: string[], added: string[]): string[] => [...old.slice(0, row), ...added, ...old.slice(end)];
  return {
    ...rows,
    depth: integers(
      rows.depth,
      more.depth.map((depth) => depth + rows.depth[row]),
    ),
    node: integers(rows.node, more.node),
    name: texts(rows.name, more.name),
    kind: texts(rows.kind, more.kind),
    module: texts(rows.module, more.module),
    total: doubles(rows.total, more.total),
    self: doubles(rows.self, more.self),
    base: doubles(rows.base, more.base),
  };
}
