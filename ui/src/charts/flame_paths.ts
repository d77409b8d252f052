// Matches the frames of two flame graphs: frames with the same path are the same, whatever their row number.

import type { FlameRows } from "../data/source.ts";

/** FNV-1a of 32 bits, and the same again with other constants: together 53 bits, which a double holds. */
const LOW = { basis: 0x811c9dc5, prime: 0x01000193 };
const HIGH = { basis: 0x2545f491, prime: 0x5bd1e995 };
const HIGH_BITS = 21;

/** A hash of the path to each row. With 50,000 paths, a collision occurs in one of seven million graphs. */
export function pathsOf({ depth, kind, name }: FlameRows): Float64Array {
  const [low, high] = [new Int32Array(depth.length), new Int32Array(depth.length)];
  const open: number[] = [];
  for (let row = 0; row < depth.length; row += 1) {
    open.length = depth[row];
    const caller = open.at(-1);
    const frame = `${kind[row]}\u0000${name[row]}\u0000`;
    low[row] = hashed(caller === undefined ? LOW.basis : low[caller], frame, LOW.prime);
    high[row] = hashed(caller === undefined ? HIGH.basis : high[caller], frame, HIGH.prime);
    open.push(row);
  }
  return Float64Array.from(low, (bits, row) => (high[row] >>> (32 - HIGH_BITS)) * 2 ** 32 + (bits >>> 0));
}

function hashed(from: number, text: string, prime: number): number {
  let bits = from;
  for (let at = 0; at < text.length; at += 1) bits = Math.imul(bits ^ text.charCodeAt(at), prime);
  return bits;
}
