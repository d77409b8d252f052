// A growing call tree: finds or adds the node for a place below a caller.
//
// A recording may have millions of stacks. So nodes are numbers in typed arrays, found by open addressing.

/** A call tree: for each node its caller (-1: none), which has a smaller number, and its place. */
export interface Calls {
  parent: Int32Array;
  place: Int32Array;
}

export class Grower {
  #parent: Int32Array;
  #place: Int32Array;
  /** Node + 1 per slot; 0 is free. Never more than half full. */
  #slots: Int32Array;
  #count = 0;

  constructor(expected = 1_024) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(expected, 16)));
    this.#parent = new Int32Array(size);
    this.#place = new Int32Array(size);
    this.#slots = new Int32Array(size * 2);
  }

  node(parent: number, place: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash(parent, place) & mask;
    for (let found = this.#slots[slot]; found !== 0; found = this.#slots[slot]) {
      if (this.#parent[found - 1] === parent && this.#place[found - 1] === place) return found - 1;
      slot = (slot + 1) & mask;
    }
    if (this.#count === this.#parent.length) {
      this.#grow();
      return this.node(parent, place);
    }
    this.#parent[this.#count] = parent;
    this.#place[this.#count] = place;
    this.#count += 1;
    this.#slots[slot] = this.#count;
    return this.#count - 1;
  }

  get calls(): Calls {
    return { parent: this.#parent.subarray(0, this.#count), place: this.#place.subarray(0, this.#count) };
  }

  #grow(): void {
    const { parent, place } = this.calls;
    const size = parent.length * 2;
    [this.#parent, this.#place] = [new Int32Array(size), new Int32Array(size)];
    this.#parent.set(parent);
    this.#place.set(place);
    this.#slots = new Int32Array(size * 2);
    const mask = this.#slots.length - 1;
    for (let node = 0; node < this.#count; node += 1) {
      let slot = hash(parent[node], place[node]) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = node + 1;
    }
  }
}

function hash(parent: number, place: number): number {
  const mixed = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(place + 1, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** The children of each node as linked lists: the first child, and for each node the next one with the same caller. */
export interface Children {
  first: Int32Array;
  next: Int32Array;
  roots: number[];
}

export function childrenOf({ parent }: Calls): Children {
  const [first, next] = [new Int32Array(parent.length).fill(-1), new Int32Array(parent.length).fill(-1)];
  const roots: number[] = [];
  for (let node = parent.length - 1; node >= 0; node -= 1) {
    const caller = parent[node];
    if (caller < 0) roots.push(node);
    else {
      next[node] = first[caller];
      first[caller] = node;
    }
  }
  return { first, next, roots: roots.reverse() };
}
