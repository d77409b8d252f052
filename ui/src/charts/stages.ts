// Requests to a device by stage, as in `btt`: the typical and the longest time of each stage. Pure.

import type { Nanoseconds } from "../base/quantities.ts";
import { parsedDetail } from "../data/detail.ts";
import type { SpanRow } from "../data/source.ts";

/** The stages in order: the key of the detail, the name, and its meaning. */
export const STAGES: readonly (readonly [key: string, name: string, says: string])[] = [
  ["q2g_ns", "Q2G", "until there was a place for it"],
  ["g2i_ns", "G2I", "until it was in the scheduler's queue"],
  ["i2d_ns", "I2D", "in the scheduler's queue"],
  ["g2d_ns", "G2D", "until the driver got it, without a scheduler"],
  ["d2c_ns", "D2C", "at the device"],
];

/** The stage that is the sum of all others. */
export const WHOLE = "Q2C";

export interface Quantiles {
  count: number;
  p50: Nanoseconds;
  p99: Nanoseconds;
}

/** The requests of one device and operation, each with its stages. */
export interface Requests {
  /** For example `vda read`. */
  name: string;
  stages: ReadonlyMap<string, Quantiles>;
}

/** The requests of each device and operation, those with the most first. */
export function requestsOf(rows: readonly SpanRow[]): Requests[] {
  const byName = new Map<string, Map<string, Nanoseconds[]>>();
  for (const row of rows) {
    const detail = parsedDetail(row.detail);
    const operation = String(detail.operation ?? "").split(" ")[0];
    const name = `${row.name} ${operation}`.trim();
    const lengths = byName.get(name) ?? new Map<string, Nanoseconds[]>();
    byName.set(name, lengths);
    add(lengths, WHOLE, row.duration);
    for (const [key, stage] of STAGES) if (typeof detail[key] === "number") add(lengths, stage, detail[key]);
  }
  const found = [...byName].map(([name, lengths]) => ({
    name,
    stages: new Map([...lengths].map(([stage, values]) => [stage, quantilesOf(values)])),
  }));
  const count = ({ stages }: Requests): number => stages.get(WHOLE)?.count ?? 0;
  return found.sort((a, b) => count(b) - count(a) || a.name.localeCompare(b.name));
}

function add(lengths: Map<string, Nanoseconds[]>, stage: string, length: Nanoseconds): void {
  const known = lengths.get(stage);
  if (known) known.push(length);
  else lengths.set(stage, [length]);
}

function quantilesOf(lengths: readonly Nanoseconds[]): Quantiles {
  const sorted = Float64Array.from(lengths).sort();
  const at = (q: number): Nanoseconds => sorted[Math.round((sorted.length - 1) * q)] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
