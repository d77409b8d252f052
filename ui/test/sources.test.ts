// Both sources are asked the same questions about every kept recording: what the server aggregates and what the file aggregates
// must be the same picture.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Interval } from "../src/base/quantities.ts";
import { FileSource } from "../src/data/file/index.ts";
import { unpack } from "../src/data/file/pack.ts";
import type { Overview } from "../src/data/overview.ts";
import { ServedLibrary } from "../src/data/served.ts";
import type { FlameQuery, FlameRows, FramesQuery, Selection, Source, TableQuery } from "../src/data/source.ts";
import { fathom, hasProgram, LABS, labs, type Server, serve } from "./program.ts";

const NONE = { kind: "none" } as const;
const QUIET = { kind: "quiet" } as const;
/** Ports of a recording that are asked for: a file has as many. */
const PORTS = 8;

/** A recording, a time of it, and names to ask about, which both sources are asked with. */
interface Asked {
  known: Overview;
  time: Interval;
  selection: Selection;
  /** The frames with most of their own, and names of frames at several depths. */
  hottest: readonly string[];
  frames: readonly string[];
}

type Question = (source: Source, asked: Asked) => Promise<unknown>;

/** Questions of which the answers are the same to the digits that the file keeps. */
const QUESTIONS: Record<string, Question> = {
  "flame graph": flame({ inverted: false, baseline: NONE }),
  "flame graph against the quiet time": flame({ inverted: false, baseline: QUIET }),
  "flame graph from the leaves": flame({ inverted: true, baseline: NONE }),
  "flame graph from the leaves against the quiet time": flame({ inverted: true, baseline: QUIET }),
  "flame graph of two threads": (source, asked) => {
    const busy = asked.known.threads.filter(({ samples }) => samples > 0).slice(0, 2);
    const threads = busy.map(({ index }) => index);
    return flame({ inverted: false, baseline: NONE, threads })(source, asked);
  },
  "frames by own weight": frames("self"),
  "frames by total": frames("total"),
  "frames by growth": frames("growth"),
  callers: sandwich("callers"),
  callees: sandwich("callees"),
  "samples of each thread": async (source, { selection }) => {
    const { thread, value } = await source.heat({ ...selection, by: "samples", columns: 100 });
    return sumsBy(thread, value);
  },
  "samples of each role with a frame": async (source, { selection, frames: [find] }) => {
    const { role, value } = await source.roleHeat({ ...selection, by: "samples", columns: 10, matching: { find } });
    return sumsBy(role, value);
  },
  "samples that have a frame": async (source, { selection, frames }) => {
    const heat = { ...selection, by: "samples", columns: 100 } as const;
    const matching = frames.flatMap((name) => [{ find: name }, { frame: name }]);
    return all(matching, async (one) => rounded(sum((await source.heat({ ...heat, matching: one })).value)));
  },
  "samples of each second": async (source, { selection }) => {
    const { second, weight } = await source.subsecond({ ...selection, rows: 50 });
    return sumsBy(second, weight);
  },
  "the longest spans of each lane": (source, asked) =>
    all(kindsOf(asked.known), async (kinds) => {
      const { rows } = await source.table({ ...spansOf(asked.time, kinds), limit: 50 });
      return rows.map(({ t, duration, thread, name }) => [microseconds(t), microseconds(duration), thread, name]);
    }),
  "spans of each lane, how many and how long": (source, asked) =>
    all(kindsOf(asked.known), async (kinds) => {
      const { total, totalDuration, held } = await source.table({ ...spansOf(asked.time, kinds), limit: 1 });
      // The sum of nothing may be minus zero.
      return [total, totalDuration + 0, held];
    }),
  "spans of each lane that are drawn": (source, { time, known }) =>
    all(kindsOf(known), async (kinds) =>
      sum((await source.spans({ ...time, kinds, threads: "all", width: 500 })).merged),
    ),
  counters: (source, { known }) =>
    all(known.lanes.filter(isCounted), async ({ id: lane, instances }) => {
      const query = { lane, instances: [...instances.keys()], from: known.from, to: known.to, width: 1_500 };
      const lines = await source.counter(query);
      const least = (values: Float64Array): number => values.reduce((one, other) => Math.min(one, other), Infinity);
      const most = (values: Float64Array): number => values.reduce((one, other) => Math.max(one, other), -Infinity);
      // The file has columns of its own, in which a value may begin one earlier.
      return [lane, lines.map(({ min, max, last }) => [least(min), most(max), last.at(-1) ?? 0].map(rounded))];
    }),
  "requests by time and length": (source, { known: { from, to, lanes } }) => {
    const ports = lanes.find(({ kind }) => kind === "latency")?.instances ?? [""];
    return all(ports.slice(0, PORTS), async (port) => {
      const parts = Math.ceil((to - from) / 1e9);
      const { lines, count, column, step } = await source.latency({ port, from, to, columns: 500, parts });
      const { t, p50, p99, max, count: counts } = lines;
      return [t, p50, p99, max, counts, count, column, step].map((one) => Array.from(one));
    });
  },
  "lines of logs": async (source, { time }) =>
    (await source.log({ ...time, find: "", limit: 100 })).map(({ t, text }) => [microseconds(t), text]),
  "what is known": async (source) => {
    const { origin_ns, from, to, explanation, lanes, threads, events, states, thinned, logs_held } =
      await source.overview();
    return toTwelveDigits([{ origin_ns, from, to, thinned, logs_held }, explanation, lanes, threads, events, states]);
  },
  "the answer as Markdown": (source) => source.markdown(),
};

describe.runIf(hasProgram()).each(labs())("served and in the file: %s", (name) => {
  let server: Server;
  let served: Source;
  let file: Source;
  let asked: Asked[];

  beforeAll(async () => {
    server = await serve(join(LABS, name));
    [served, file] = [new ServedLibrary(server.url).open(0), await openFile(join(LABS, name))];
    const known = await served.overview();
    asked = await all(timesOf(known), (time) => about(served, known, time));
  });
  afterAll(() => server?.stop());

  test.each(Object.entries(QUESTIONS))("%s", async (_, question) => {
    for (const one of asked) expect(await question(file, one)).toEqual(await question(served, one));
  });

  test("samples over time add up to the flame graph", async () => {
    const [, { selection }] = asked;
    for (const source of [served, file]) {
      const { total, node, name: names } = await source.flame({ ...selection, inverted: false, baseline: NONE });
      const heat = { ...selection, by: "samples", columns: 100 } as const;
      const below = { below: node[1], name: names[1] };
      expect(sum((await source.heat(heat)).value) / total[0]).toBeCloseTo(1, 2);
      expect(sum((await source.heat({ ...heat, matching: below })).value) / total[1]).toBeCloseTo(1, 2);
      expect(sum((await source.subsecond({ ...selection, rows: 50 })).weight) / total[0]).toBeCloseTo(1, 2);
    }
  });

  test("what lasted, whose times in the file are to the microsecond", async () => {
    for (const { time, known } of asked) await expectSameWaits(served, file, known, time);
  });

  test("states of threads, of which the file has columns of its own", async () => {
    const { from, to } = asked[0].known;
    const [a, b] = await all([served, file], async (source) =>
      sum((await source.roleHeat({ from, to, by: "state", event: "", columns: 100 })).value),
    );
    expect(Math.abs(b - a)).toBeLessThanOrEqual(0.05 * a + 1);
  });
});

async function expectSameWaits(served: Source, file: Source, { events }: Overview, time: Interval): Promise<void> {
  for (const { id } of events.filter(({ lasting }) => lasting)) {
    const query = { ...time, threads: "all", event: id, inverted: false, baseline: NONE } as const;
    const [a, b] = [await served.flame(query), await file.flame(query)];
    expect([id, b.unit]).toEqual([id, a.unit]);
    expect(Math.abs(b.samples - a.samples)).toBeLessThanOrEqual(0.01 * a.samples + 2);
    expect(Math.abs((b.total[0] ?? 0) - (a.total[0] ?? 0))).toBeLessThanOrEqual(
      1e-3 * (a.total[0] ?? 0) + 2e3 * a.samples,
    );
  }
}

/** All of it, a part of it that begins in the middle of things, and its slow times. */
function timesOf({ from, to, origin_ns, explanation }: Overview): Interval[] {
  const at = (ns: number): number => ns - Math.round(Number(origin_ns) / 1e6) * 1e6;
  const part = (share: number): number => Math.floor((from + (to - from) * share) / 1e6) * 1e6;
  const slow = explanation.slow.map(({ from_ns, to_ns }) => ({ from: at(from_ns), to: at(to_ns) }));
  return [{ from: part(0.4), to: part(0.8) }, { from, to }, ...slow];
}

async function about(source: Source, known: Overview, time: Interval): Promise<Asked> {
  const selection: Selection = { ...time, threads: "all", event: known.events[0].id };
  const { frames: hottest } = await source.frames({ ...selection, baseline: NONE, sort: "self" });
  const { name } = await source.flame({ ...selection, inverted: false, baseline: NONE });
  const depths = [1, 5, Math.floor(name.length / 2)].filter((row) => row < name.length);
  const names = hottest.slice(0, 1).map((frame) => frame.name);
  return { known, time, selection, hottest: names, frames: depths.map((row) => name[row]) };
}

function flame(how: Pick<FlameQuery, "inverted" | "baseline"> & Partial<Selection>): Question {
  return async (source, { selection }) => weights(await source.flame({ ...selection, ...how }));
}

function frames(sort: FramesQuery["sort"]): Question {
  return async (source, { selection }) => {
    const { frames: found } = await source.frames({ ...selection, baseline: QUIET, sort });
    const sums = found.slice(0, 20).map(({ self, total, baseSelf, baseTotal }) => [self, total, baseSelf, baseTotal]);
    return sums.map(([own, all, base, baseAll]) =>
      [own, all].map(rounded).concat([base, baseAll].map(scaled)).join(" "),
    );
  };
}

function sandwich(side: "callers" | "callees"): Question {
  return (source, { selection, hottest }) =>
    all(hottest, async (frame) => weights(await source.sandwich({ ...selection, frame, side })));
}

function kindsOf({ lanes }: Overview): string[][] {
  return lanes.filter(({ kind }) => kind === "spans").map(({ kinds }) => kinds ?? []);
}

function isCounted({ kind }: Overview["lanes"][number]): boolean {
  return kind !== "spans" && kind !== "latency";
}

function spansOf(time: Interval, kinds: readonly string[]): Omit<TableQuery, "limit"> {
  return { ...time, kinds, threads: "all", find: "", sort: "duration", order: "desc", offset: 0 };
}

async function openFile(lab: string): Promise<Source> {
  const folder = mkdtempSync(join(tmpdir(), "fathom-sources-"));
  const path = join(folder, "page.html");
  fathom("explain", "--html", path, lab);
  const html = readFileSync(path, "utf8");
  rmSync(folder, { recursive: true });
  const data = /<script type="application\/octet-stream" id="fathom-data">([^<]*)<\/script>/.exec(html);
  if (!data) throw new Error("the file holds no data");
  return new FileSource(await unpack(data[1]));
}

/** One after the other: a server answers few questions at once. */
async function all<T, A>(of: readonly T[], answer: (one: T) => Promise<A>): Promise<A[]> {
  const answers: A[] = [];
  for (const one of of) answers.push(await answer(one));
  return answers;
}

/** Two runs may add up in another order. */
function toTwelveDigits(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "number" ? Number(part.toPrecision(12)) : part));
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((total, one) => total + one, 0);
}

function sumsBy(keys: ArrayLike<number>, values: ArrayLike<number>): string[] {
  const sums = new Map<number, number>();
  for (let at = 0; at < keys.length; at += 1) sums.set(keys[at], (sums.get(keys[at]) ?? 0) + values[at]);
  return [...sums]
    .filter(([, value]) => value > 0)
    .map(([key, value]) => `${key}: ${rounded(value)}`)
    .sort();
}

/** The file keeps weights as 32-bit numbers. */
function rounded(value: number): string {
  return value.toPrecision(5);
}

/** A baseline is scaled by its length, which the file knows to the microsecond. */
function scaled(value: number): string {
  return value.toPrecision(4);
}

/** Times of spans in the file are to the microsecond. */
function microseconds(ns: number): number {
  return Math.round(ns / 1e3);
}

/** Paths and weights of a tree; children of equal weight may stand in any order. */
function weights({ depth, name, kind, total, base }: FlameRows): string[] {
  const path: string[] = [];
  const rows = name.map((word, row) => {
    path.length = depth[row];
    path.push(`${kind[row]}:${word}`);
    return `${path.join(";")} ${rounded(total[row])} ${base.length > 0 ? scaled(base[row]) : ""}`;
  });
  return rows.sort();
}
