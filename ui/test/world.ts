// A small world to test against: what threads did is written down as a few rules, and becomes a pack like the one that
// `fathom explain --html` writes.

import { tableFromArrays, tableToIPC } from "@uwdata/flechette";
import type { Explanation } from "../src/data/explanation.ts";
import type { Overview, Thread } from "../src/data/overview.ts";

/** Samples of one thread: from, to and every how many milliseconds, with which stack (root first, `kind:name`). */
export interface Activity {
  thread: number;
  from_ms: number;
  to_ms: number;
  every_ms: number;
  stack: string;
  event?: number;
}

export interface SpanOf {
  t: number;
  duration: number;
  thread: number;
  kind: string;
  name: string;
  detail?: string;
  stack?: number;
}

export interface World {
  overview: Overview;
  activities: readonly Activity[];
  spans: readonly SpanOf[];
  /** When requests began, and how long they took. */
  requests?: readonly { t: number; duration: number }[];
  /** Spans that the file left out, in columns of a second. */
  leftOut?: readonly { kind: string; second: number; count: number; total: number; longest: number }[];
  counters: Record<string, readonly (readonly [t_ms: number, value: number])[]>;
}

/** A thread of a role; its index follows from its place in the list. */
export function threadsOf(...roles: readonly (readonly [role: string, name: string, count: number])[]): Thread[] {
  const threads: Thread[] = [];
  for (const [role, name, count] of roles) {
    for (let number = 0; number < count; number += 1) {
      const index = threads.length;
      threads.push({
        index,
        tid: 1000 + index,
        name: count > 1 ? `${name}-${number}` : name,
        role,
        cpu_ns: 0,
        samples: 0,
      });
    }
  }
  return threads;
}

/** What is known of nothing in particular, to be filled in. */
export function overviewOf(explanation: Explanation, known: Partial<Overview>): Overview {
  return {
    schema: 1,
    origin_ns: "1700000000000000000",
    from: 0,
    to: 10e9,
    explanation,
    baseline: [],
    pages: {},
    threads: [],
    roles: [...new Set((known.threads ?? []).map(({ role }) => role))].map((id) => ({ id, title: id })),
    lanes: [],
    events: [{ id: "cpu", title: "CPU", unit: "ns", samples: 0, on_cpu: true }],
    states: [],
    facts: [],
    ...known,
  };
}

/** Stacks and frames with ids from 1, as the program interns them. */
class Interned {
  readonly frames: string[] = [];
  readonly parent: number[] = [-1];
  readonly frame: number[] = [0];
  readonly #ids = new Map<string, number>();

  stack(path: string): number {
    let at = 0;
    let key = "";
    for (const frame of path.split(";")) {
      key = `${key};${frame}`;
      let id = this.#ids.get(key);
      if (id === undefined) {
        id = this.parent.push(at) - 1;
        this.frame.push(this.#frame(frame));
        this.#ids.set(key, id);
      }
      at = id;
    }
    return at;
  }

  #frame(frame: string): number {
    const known = this.frames.indexOf(frame);
    return known >= 0 ? known : this.frames.push(frame) - 1;
  }
}

/** The bytes of the pack, not yet compressed. */
export function packOf(world: World): Uint8Array {
  const parts: Record<string, Uint8Array> = {};
  if (world.activities.length > 0) Object.assign(parts, samplesOf(world));
  if (world.spans.length > 0) parts.spans = spansOf(world.spans);
  if (world.requests) Object.assign(parts, latencyParts(world.requests, world.overview));
  if (world.leftOut) parts.span_density = densityOf(world.leftOut);
  for (const [name, points] of Object.entries(world.counters)) parts[`counter/${name}`] = counterOf(points);
  const entries: { name: string; offset: number; length: number }[] = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(parts)) {
    entries.push({ name, offset, length: bytes.length });
    offset += bytes.length;
  }
  const header = new TextEncoder().encode(JSON.stringify({ overview: world.overview, markdown: "", parts: entries }));
  const pack = new Uint8Array(4 + header.length + offset);
  new DataView(pack.buffer).setUint32(0, header.length, true);
  pack.set(header, 4);
  Object.values(parts).forEach((bytes, index) => {
    pack.set(bytes, 4 + header.length + entries[index].offset);
  });
  return pack;
}

function samplesOf({ activities }: World): Record<string, Uint8Array> {
  const interned = new Interned();
  const rows = activities
    .flatMap((activity) => {
      const stack = interned.stack(activity.stack);
      const count = Math.floor((activity.to_ms - activity.from_ms) / activity.every_ms);
      return Array.from({ length: count }, (_, index) => ({
        t: (activity.from_ms + index * activity.every_ms) * 1_000,
        stack,
        activity,
      }));
    })
    .sort((a, b) => a.t - b.t);
  return {
    samples: stream({
      t: Int32Array.from(rows, ({ t }, index) => t - (rows[index - 1]?.t ?? 0)),
      thread: Int32Array.from(rows, ({ activity }) => activity.thread),
      event: Uint8Array.from(rows, ({ activity }) => activity.event ?? 0),
      stack: Uint32Array.from(rows, ({ stack }) => stack),
      weight: Float32Array.from(rows, ({ activity }) => activity.every_ms * 1e6),
    }),
    stacks: stream({ parent: Int32Array.from(interned.parent), frame: Uint32Array.from(interned.frame) }),
    frames: stream({
      name: interned.frames.map((frame) => frame.slice(frame.indexOf(":") + 1)),
      kind: interned.frames.map((frame) => frame.slice(0, frame.indexOf(":"))),
      module: interned.frames.map(() => ""),
    }),
  };
}

function spansOf(spans: readonly SpanOf[]): Uint8Array {
  return stream({
    t: Float64Array.from(spans, ({ t }) => t),
    duration: Float64Array.from(spans, ({ duration }) => duration),
    thread: Int32Array.from(spans, ({ thread }) => thread),
    kind: spans.map(({ kind }) => kind),
    name: spans.map(({ name }) => name),
    stack: Int32Array.from(spans, ({ stack }) => stack ?? 0),
    kernel_stack: Int32Array.from(spans, () => 0),
    detail: spans.map(({ detail }) => detail ?? ""),
  });
}

/** Cells of a quarter of a doubling and a quarter of a second; quantiles of each second. */
function latencyParts(requests: NonNullable<World["requests"]>, { from, to }: Overview): Record<string, Uint8Array> {
  const columns = Math.ceil((to - from) / 250e6);
  const cells = new Map<number, number>();
  const seconds = new Map<number, number[]>();
  for (const { t, duration } of requests) {
    const key = Math.floor((t - from) / 250e6) * 256 + Math.floor(4 * Math.log2(duration));
    cells.set(key, (cells.get(key) ?? 0) + 1);
    const second = Math.floor((t - from) / 1e9);
    seconds.set(
      second,
      [...(seconds.get(second) ?? []), duration].sort((a, b) => a - b),
    );
  }
  const keys = [...cells.keys()].sort((a, b) => a - b);
  const rows = [...seconds].sort(([a], [b]) => a - b);
  const quantile = (q: number) =>
    Float64Array.from(rows, ([, durations]) => durations[Math.round((durations.length - 1) * q)]);
  const notes = { columns: String(columns), from: String(from), to: String(to), steps_per_doubling: "4" };
  const grid = {
    column: Int32Array.from(keys, (key) => Math.floor(key / 256)),
    step: Int32Array.from(keys, (key) => key % 256),
    count: Float32Array.from(keys, (key) => cells.get(key) ?? 0),
  };
  const lines = {
    t: Float64Array.from(rows, ([second]) => from + second * 1e9),
    count: Float64Array.from(rows, ([, durations]) => durations.length),
    p50: quantile(0.5),
    p99: quantile(0.99),
    max: quantile(1),
  };
  return { "latency/": stream(grid, notes), "latency_lines/": stream(lines, { column_ns: "1000000000" }) };
}

function densityOf(cells: NonNullable<World["leftOut"]>): Uint8Array {
  const columns = {
    kind: cells.map(({ kind }) => kind),
    t: Float64Array.from(cells, ({ second }) => second * 1e9),
    count: Uint32Array.from(cells, ({ count }) => count),
    total_ns: Float64Array.from(cells, ({ total }) => total),
    longest_ns: Float64Array.from(cells, ({ longest }) => longest),
  };
  return stream(columns, { column_ns: "1000000000" });
}

function counterOf(points: readonly (readonly [t_ms: number, value: number])[]): Uint8Array {
  const values = Float64Array.from(points, ([, value]) => value);
  return stream({ t: Float64Array.from(points, ([t]) => t * 1e6), min: values, max: values, last: values });
}

function stream(
  columns: Record<string, Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array | string[]>,
  notes: Record<string, string> = {},
): Uint8Array {
  const table = tableFromArrays(columns);
  table.schema.metadata = new Map(Object.entries(notes));
  const bytes = tableToIPC(table, { format: "stream" });
  if (!bytes) throw new Error("the table could not be written");
  return bytes;
}
