// Builds call trees from stacks.
//
// Stacks already form a tree (each is its caller's stack plus a frame), but frames that differ only in the line are one place
// in a flame graph. So stacks are mapped once to a tree in which siblings differ by name and kind. A selection is then
// one pass over its samples and one over the tree. Parents always come before their children.

import { matcher } from "../../base/search.ts";
import type { FlameRows, Matching } from "../source.ts";
import { type Calls, childrenOf, Grower } from "./grower.ts";
import type { Pack } from "./pack.ts";

/** Frames with a smaller part of the whole are not drawn: they are a fraction of a pixel on any screen. */
const SMALLEST_SHARE = 0.0005;

/** Names of places. Two frames that look the same share one key. */
export interface Places {
  name: string[];
  kind: string[];
  module: string[];
}

/** The stacks of a recording with equal places merged. */
export class CallTree {
  readonly places: Places = { name: [], kind: [], module: [] };
  readonly calls: Calls;
  /** Node of each stack; -1 for the empty one. */
  readonly nodeOfStack: Int32Array;
  /** Place of each frame, and the frame and caller of each stack. */
  readonly #placeOfFrame: Int32Array;
  readonly #frame: Int32Array;
  readonly #parent: Int32Array;

  constructor(pack: Pack) {
    const [frames, stacks] = [pack.part("frames"), pack.part("stacks")];
    this.#placeOfFrame = this.#placesOf(
      frames?.texts("name") ?? [],
      frames?.texts("kind") ?? [],
      frames?.texts("module") ?? [],
    );
    this.#frame = stacks?.integers("frame") ?? new Int32Array();
    this.#parent = stacks?.integers("parent") ?? new Int32Array();
    const grower = new Grower(this.#parent.length);
    this.nodeOfStack = new Int32Array(this.#parent.length).fill(-1);
    for (let stack = 1; stack < this.#parent.length; stack += 1) {
      const caller = this.#parent[stack];
      const node = caller > 0 && caller < stack ? this.nodeOfStack[caller] : -1;
      this.nodeOfStack[stack] = grower.node(node, this.#placeOfFrame[this.#frame[stack]]);
    }
    this.calls = grower.calls;
  }

  /** Places of a stack, the leaf first. */
  stack(id: number): number[] {
    const places = [];
    for (let at = id; at > 0 && at < this.#parent.length; at = this.#parent[at]) {
      places.push(this.#placeOfFrame[this.#frame[at]]);
      if (this.#parent[at] >= at) break;
    }
    return places;
  }

  #placesOf(name: string[], kind: string[], module: string[]): Int32Array {
    const known = new Map<string, number>();
    return Int32Array.from(name, (_, frame) => {
      const key = `${kind[frame]}\u0000${name[frame]}\u0000${module[frame]}`;
      let place = known.get(key);
      if (place === undefined) {
        place = this.places.name.push(name[frame]) - 1;
        this.places.kind.push(kind[frame]);
        this.places.module.push(module[frame]);
        known.set(key, place);
      }
      return place;
    });
  }
}

/** Adds the weight of each node to its callers. */
export function totals(calls: Calls, self: Float64Array): Float64Array {
  const total = self.slice();
  for (let node = total.length - 1; node >= 0; node -= 1) {
    if (calls.parent[node] >= 0) total[calls.parent[node]] += total[node];
  }
  return total;
}

/** A tree with its weights in the selection and in the baseline. */
export interface Weighed {
  calls: Calls;
  self: Float64Array;
  baseSelf: Float64Array;
}

/** The inverted tree: leaves become roots, and their callers are below them. */
export function inverted({ calls, self, baseSelf }: Weighed): Weighed {
  const upwards = new Upwards(calls);
  for (let leaf = 0; leaf < self.length; leaf += 1) upwards.add(leaf, calls.place[leaf], self[leaf], baseSelf[leaf]);
  return upwards.done();
}

/** 1 for each node whose stack matches: a matching frame is on its path, or it is below the given node. */
export function meantNodes(calls: Calls, places: Places, matching: Matching): Uint8Array {
  const meant = new Uint8Array(calls.parent.length);
  if ("below" in matching) meant[matching.below] = 1;
  else {
    const wanted = "find" in matching ? matcher(matching.find) : (name: string): boolean => name === matching.frame;
    const ofPlace = places.name.map(wanted);
    for (let node = 0; node < meant.length; node += 1) meant[node] = ofPlace[calls.place[node]] ? 1 : 0;
  }
  for (let node = 0; node < meant.length; node += 1) {
    if (calls.parent[node] >= 0 && meant[calls.parent[node]] === 1) meant[node] = 1;
  }
  return meant;
}

/** Several places of a tree that are treated as one, such as a method that is compiled in one place and inlined in another. */
export interface Wanted {
  has: (place: number) => boolean;
  /** The place that represents all of them. */
  as: number;
}

/** The callers of the wanted places. In a recursion the outermost call counts. */
export function above({ calls, self, baseSelf }: Weighed, wanted: Wanted): Weighed {
  const [total, baseTotal] = [totals(calls, self), totals(calls, baseSelf)];
  const upwards = new Upwards(calls);
  for (let node = 0; node < self.length; node += 1) {
    if (!wanted.has(calls.place[node]) || hasAbove(calls, node, wanted.has)) continue;
    upwards.add(node, wanted.as, total[node], baseTotal[node]);
  }
  return upwards.done();
}

/** Builds a tree from nodes of another tree up to its roots. */
class Upwards {
  readonly #calls: Calls;
  readonly #grower = new Grower();
  readonly #self: number[] = [];
  readonly #baseSelf: number[] = [];

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  add(from: number, place: number, weight: number, baseWeight: number): void {
    if (weight === 0 && baseWeight === 0) return;
    let node = this.#grower.node(-1, place);
    for (let at = this.#calls.parent[from]; at >= 0; at = this.#calls.parent[at]) {
      node = this.#grower.node(node, this.#calls.place[at]);
    }
    this.#self[node] = (this.#self[node] ?? 0) + weight;
    this.#baseSelf[node] = (this.#baseSelf[node] ?? 0) + baseWeight;
  }

  done(): Weighed {
    const { calls } = this.#grower;
    const length = calls.parent.length;
    const full = (sparse: number[]): Float64Array => Float64Array.from({ length }, (_, node) => sparse[node] ?? 0);
    return { calls, self: full(this.#self), baseSelf: full(this.#baseSelf) };
  }
}

/** The callees of the wanted places, wherever these are. In a recursion the outermost call counts. */
export function below({ calls, self, baseSelf }: Weighed, wanted: Wanted): Weighed {
  const grower = new Grower();
  const image = new Int32Array(self.length).fill(-1);
  const [own, base]: [number[], number[]] = [[], []];
  for (let node = 0; node < self.length; node += 1) {
    const caller = calls.parent[node];
    const inside = caller >= 0 && image[caller] >= 0;
    if (!inside && !wanted.has(calls.place[node])) continue;
    const at = inside ? grower.node(image[caller], calls.place[node]) : grower.node(-1, wanted.as);
    image[node] = at;
    own[at] = (own[at] ?? 0) + self[node];
    base[at] = (base[at] ?? 0) + baseSelf[node];
  }
  return { calls: grower.calls, self: Float64Array.from(own), baseSelf: Float64Array.from(base) };
}

/** The weights below one node; all other weights become 0. */
export function onlyBelow({ calls, self, baseSelf }: Weighed, root: number): Weighed {
  const isInside = new Uint8Array(self.length);
  for (let node = 0; node < self.length; node += 1) {
    const caller = calls.parent[node];
    isInside[node] = node === root || (caller >= 0 && isInside[caller] === 1) ? 1 : 0;
  }
  const inside = (weight: number, node: number): number => (isInside[node] === 1 ? weight : 0);
  return { calls, self: self.map(inside), baseSelf: baseSelf.map(inside) };
}

/** Whether a wanted place is among the callers of a node. */
export function hasAbove(calls: Calls, node: number, wanted: (place: number) => boolean): boolean {
  for (let at = calls.parent[node]; at >= 0; at = calls.parent[at]) if (wanted(calls.place[at])) return true;
  return false;
}

/** The tree in preorder, the largest first, without frames that are too small to be visible. */
export function preorder(tree: Weighed, places: Places, compared: boolean, unit: string, samples: number): FlameRows {
  const { calls, self, baseSelf } = tree;
  const [total, base] = [totals(calls, self), totals(calls, baseSelf)];
  const roots = roomFor(calls, total, base);
  const { rows, depth, cut } = roots.walk();
  const column = (of: Float64Array, root: number): Float64Array =>
    Float64Array.from(rows, (node) => (node < 0 ? root : of[node]));
  const text = (of: string[], root: string): string[] => rows.map((node) => (node < 0 ? root : of[calls.place[node]]));
  return {
    depth: Int32Array.from(depth),
    node: Int32Array.from(rows),
    name: text(places.name, "all"),
    kind: text(places.kind, ""),
    module: text(places.module, ""),
    total: column(total, roots.whole),
    self: column(self, 0),
    base: compared ? column(base, roots.wholeBase) : new Float64Array(),
    unit,
    samples,
    cut,
  };
}

interface Walk {
  /** Nodes in preorder; -1 is the root above all. */
  rows: number[];
  depth: number[];
  cut: number;
}

/** The nodes that are large enough to be drawn, in the selection or in the baseline. */
function roomFor(
  calls: Calls,
  total: Float64Array,
  base: Float64Array,
): { whole: number; wholeBase: number; walk: () => Walk } {
  const children = childrenOf(calls);
  const { roots } = children;
  const [whole, wholeBase] = [total, base].map((of) => roots.reduce((all, node) => all + of[node], 0));
  const isSeen = (node: number): boolean =>
    (total[node] > 0 && total[node] >= whole * SMALLEST_SHARE) ||
    (base[node] > 0 && base[node] >= wholeBase * SMALLEST_SHARE);
  const walk = (): Walk => {
    const walked: Walk = { rows: [], depth: [], cut: 0 };
    // An explicit stack: the calls in a recording may be deeper than this program's own stack allows.
    const open: [node: number, depth: number][] = [[-1, 0]];
    for (let next = open.pop(); next; next = open.pop()) {
      const [node, depth] = next;
      walked.rows.push(node);
      walked.depth.push(depth);
      const below = node < 0 ? roots : chain(children.first[node], children.next);
      const seen = below.filter(isSeen).sort((a, b) => total[a] - total[b] || base[a] - base[b] || b - a);
      walked.cut += below.filter((child) => total[child] > 0).length - seen.filter((child) => total[child] > 0).length;
      for (const child of seen) open.push([child, depth + 1]);
    }
    return walked;
  };
  return { whole, wholeBase, walk };
}

/** The nodes of a chain. */
function chain(first: number, next: Int32Array): number[] {
  const nodes = [];
  for (let node = first; node >= 0; node = next[node]) nodes.push(node);
  return nodes;
}
