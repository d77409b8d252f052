// Both sources are asked the same questions about the same recording: what the server aggregates and what the file
// aggregates must be the same picture.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Interval } from "../src/base/quantities.ts";
import { FileSource } from "../src/data/file/index.ts";
import { unpack } from "../src/data/file/pack.ts";
import type { Overview } from "../src/data/overview.ts";
import { ServedLibrary } from "../src/data/served.ts";
import type { FlameRows, HottestFrames, Matching, Selection, Source } from "../src/data/source.ts";
import { fathom, hasProgram, LABS, labs, type Server, serve } from "./program.ts";

const isPossible = hasProgram();
// The one has a quiet time to compare with, the other was slow from the first second to the last.
const QUIET_AT_FIRST = "code_cache_churn-sick-jdk25";
const NEVER_QUIET = "code_cache_churn-sick-jdk17";

describe.runIf(isPossible).each([QUIET_AT_FIRST, NEVER_QUIET])("served and in the file: %s", (name) => {
  const lab = join(LABS, name);
  let server: Server;
  let served: Source;
  let file: Source;
  let overview: Overview;
  let slow: Selection;

  beforeAll(async () => {
    server = await serve(lab);
    served = new ServedLibrary(server.url).open(0);
    file = await openFile(lab);
    overview = await served.overview();
    const { from, to } = overview;
    const middle = { from: from + (to - from) * 0.4, to: from + (to - from) * 0.8 };
    slow = {
      from: Math.floor(middle.from / 1e6) * 1e6,
      to: Math.floor(middle.to / 1e6) * 1e6,
      threads: "all",
      event: overview.events[0].id,
    };
  });
  afterAll(() => server?.stop());

  test("the same is known", async () => {
    const other = await file.overview();
    const { explanation, lanes, threads, events, states } = overview;
    expect(other).toMatchObject({ origin_ns: overview.origin_ns, from: overview.from, to: overview.to });
    expect(toTwelveDigits(other.explanation)).toBe(toTwelveDigits(explanation));
    expect(other.lanes.map(({ id }) => id)).toEqual(lanes.map(({ id }) => id));
    expect([other.threads, other.events, other.states]).toEqual([threads, events, states]);
    expect(await file.markdown()).toBe(await served.markdown());
  });

  test.each([false, true])("flame graphs, inverted: %s", async (inverted) => {
    const query = { ...slow, inverted, baseline: { kind: "quiet" } as const };
    const [a, b] = [await served.flame(query), await file.flame(query)];
    expect(b.total[0]).toBeGreaterThan(0);
    expect(differences(a, b)).toEqual([]);
  });

  test("flame graphs of some threads", async () => {
    const busy = overview.threads.filter(({ samples }) => samples > 0).slice(0, 2);
    const query = {
      ...slow,
      threads: busy.map(({ index }) => index),
      inverted: false,
      baseline: { kind: "none" } as const,
    };
    expect(differences(await served.flame(query), await file.flame(query))).toEqual([]);
  });

  test.each(["self", "total", "growth"] as const)("hottest frames by %s", async (sort) => {
    const query = { ...slow, baseline: { kind: "quiet" }, sort } as const;
    const top = ({ frames }: HottestFrames): string[] =>
      frames
        .slice(0, 20)
        .map((frame) => [frame.self, frame.total, frame.baseSelf, frame.baseTotal].map(rounded).join(" "));
    expect(top(await file.frames(query))).toEqual(top(await served.frames(query)));
  });

  test("callers and callees", async () => {
    const a = await served.frames({ ...slow, baseline: { kind: "none" }, sort: "self" });
    for (const side of ["callers", "callees"] as const) {
      const sandwich = { ...slow, frame: a.frames[0].name, side };
      expect(differences(await served.sandwich(sandwich), await file.sandwich(sandwich))).toEqual([]);
    }
  });

  test("heat adds up to the flame graph", async () => {
    const flame = await served.flame({ ...slow, inverted: false, baseline: { kind: "none" } });
    for (const source of [served, file]) {
      const heat = await source.heat({ ...slow, by: "samples", columns: 100 });
      expect(sum(heat.value) / flame.total[0]).toBeCloseTo(1, 2);
      const seconds = await source.subsecond({ ...slow, rows: 50 });
      expect(sum(seconds.weight) / flame.total[0]).toBeCloseTo(1, 2);
    }
  });

  test("stacks that are meant, over time", async () => {
    const heatOf = async (source: Source, matching: Matching): Promise<number> =>
      sum((await source.heat({ ...slow, by: "samples", columns: 100, matching })).value);
    const flames = await Promise.all(
      [served, file].map((source) => source.flame({ ...slow, inverted: false, baseline: { kind: "none" } })),
    );
    const { name, total } = flames[0];
    for (const row of [1, 5, Math.floor(name.length / 2)]) {
      const [found, frame] = [{ find: name[row] }, { frame: name[row] }];
      expect(rounded(await heatOf(file, found))).toBe(rounded(await heatOf(served, found)));
      expect(rounded(await heatOf(file, frame))).toBe(rounded(await heatOf(served, frame)));
    }
    for (const [index, source] of [served, file].entries()) {
      const below = { below: flames[index].node[1], name: name[1] };
      expect((await heatOf(source, below)) / total[1]).toBeCloseTo(1, 2);
    }
    const roles = { ...slow, by: "samples", columns: 10, matching: { find: name[1] } } as const;
    expect(rounded(sum((await file.roleHeat(roles)).value))).toBe(rounded(sum((await served.roleHeat(roles)).value)));
  });

  test("figures", async () => {
    const figures = overview.lanes.filter(({ parts }) => (parts?.length ?? 0) > 0);
    expect(figures.map(({ kind }) => kind)).toContain("cache");
    for (const { id: lane, instances } of figures) {
      const query = { lane, instances: [...instances.keys()], from: overview.from, to: overview.to, width: 1_500 };
      const [a, b] = [await served.counter(query), await file.counter(query)];
      expect(b.map(({ last }) => last.at(-1))).toEqual(a.map(({ last }) => last.at(-1)));
    }
  });

  test("spans", async () => {
    const kinds = ["gc_pause", "safepoint"];
    const query = {
      from: slow.from,
      to: slow.to,
      kinds,
      threads: "all",
      find: "",
      sort: "duration",
      order: "desc",
    } as const;
    const [a, b] = [
      await served.table({ ...query, limit: 50, offset: 0 }),
      await file.table({ ...query, limit: 50, offset: 0 }),
    ];
    expect(a.total).toBeGreaterThan(0);
    expect([b.total, b.totalDuration]).toEqual([a.total, a.totalDuration]);
    expect(b.rows.map(({ t, duration, name }) => [t, duration, name])).toEqual(
      a.rows.map(({ t, duration, name }) => [t, duration, name]),
    );
    const marks = { from: slow.from, to: slow.to, kinds, threads: "all", width: 500 } as const;
    const [c, d] = [await served.spans(marks), await file.spans(marks)];
    expect(sum(d.merged)).toBe(sum(c.merged));
  });

  test("counters", async () => {
    const lane = overview.lanes.find(
      ({ kind, instances }) => (kind === "counter" || kind === "rate") && instances.length === 1,
    );
    if (!lane) throw new Error("the recording has no counters");
    const query = { lane: lane.id, instances: [0], from: overview.from, to: overview.to, width: 1_500 };
    const [[a], [b]] = [await served.counter(query), await file.counter(query)];
    expect(a.t.length).toBeGreaterThan(0);
    expect([...b.last].slice(0, 50)).toEqual([...a.last].slice(0, 50));
  });
});

describe.runIf(isPossible)("the file of every kept recording has the numbers of the server", () => {
  test.each(labs())("%s", async (name) => {
    const lab = join(LABS, name);
    const server = await serve(lab);
    try {
      const [served, file] = [new ServedLibrary(server.url).open(0), await openFile(lab)];
      const [known, other] = [await served.overview(), await file.overview()];
      expect([other.thinned, other.logs_held]).toEqual([known.thinned, known.logs_held]);
      expect(other.lanes).toEqual(known.lanes);
      expect(toTwelveDigits(other.explanation)).toBe(toTwelveDigits(known.explanation));
      const { origin_ns, explanation, lanes } = known;
      const at = (ns: number): number => ns - Math.round(Number(origin_ns) / 1e6) * 1e6;
      const times = [known, ...explanation.slow.map(({ from_ns, to_ns }) => ({ from: at(from_ns), to: at(to_ns) }))];
      for (const { from, to } of times) {
        for (const kinds of lanes.filter(({ kind }) => kind === "spans").map((lane) => lane.kinds ?? [])) {
          const query = { from, to, kinds, threads: "all", find: "", sort: "duration", order: "desc" } as const;
          const counts = async (source: Source): Promise<number[]> => {
            const { total, totalDuration, held } = await source.table({ ...query, limit: 1, offset: 0 });
            // The sum of nothing may be minus zero.
            return [total, totalDuration + 0, held];
          };
          expect(await counts(file)).toEqual(await counts(served));
        }
      }
      const ports = lanes.find(({ kind }) => kind === "latency")?.instances ?? [""];
      for (const port of ports.slice(0, 8)) await expectSameLatency(served, file, known, port);
      for (const time of times) await expectSameWaits(served, file, known, time);
      const roles = { from: known.from, to: known.to, by: "state", event: "", columns: 100 } as const;
      const [c, d] = [await served.roleHeat(roles), await file.roleHeat(roles)];
      // The file has columns of its own, at whose edges amounts are known to a part of a column.
      expect(Math.abs(sum(d.value) - sum(c.value))).toBeLessThanOrEqual(0.05 * sum(c.value) + 1);
    } finally {
      server.stop();
    }
  });
});

async function expectSameLatency(served: Source, file: Source, { from, to }: Overview, port: string): Promise<void> {
  const picture = { port, from, to, columns: 500, parts: Math.ceil((to - from) / 1e9) };
  const [a, b] = [await served.latency(picture), await file.latency(picture)];
  expect([b.lines.t, b.lines.p50, b.lines.p99, b.lines.max]).toEqual([
    a.lines.t,
    a.lines.p50,
    a.lines.p99,
    a.lines.max,
  ]);
  expect(b.lines.count).toEqual(a.lines.count);
  expect(b.count).toEqual(a.count);
}

/** What lasted has the same flame graph; times of the file are to the microsecond. */
async function expectSameWaits(served: Source, file: Source, { events }: Overview, time: Interval): Promise<void> {
  for (const { id } of events.filter(({ lasting }) => lasting)) {
    const query = { ...time, threads: "all", event: id, inverted: false, baseline: { kind: "none" } } as const;
    const [a, b] = [await served.flame(query), await file.flame(query)];
    expect([id, b.unit]).toEqual([id, a.unit]);
    expect(Math.abs(b.samples - a.samples)).toBeLessThanOrEqual(0.01 * a.samples + 2);
    expect(Math.abs((b.total[0] ?? 0) - (a.total[0] ?? 0))).toBeLessThanOrEqual(
      1e-3 * (a.total[0] ?? 0) + 2e3 * a.samples,
    );
  }
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

/** Two runs may add up in another order. */
function toTwelveDigits(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "number" ? Number(part.toPrecision(12)) : part));
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((all, one) => all + one, 0);
}

/** The file keeps weights as 32-bit numbers. */
function rounded(value: number): string {
  return value.toPrecision(5);
}

/** The first rows that only one of two trees has. */
function differences(served: FlameRows, file: FlameRows): string[] {
  const [a, b] = [new Set(weights(served)), new Set(weights(file))];
  const onlyServed = [...a].filter((row) => !b.has(row)).map((row) => `served: ${row}`);
  const onlyFile = [...b].filter((row) => !a.has(row)).map((row) => `file: ${row}`);
  return [...onlyServed.slice(0, 4), ...onlyFile.slice(0, 4)];
}

/** Paths and weights of a tree; children of equal weight may stand in any order. */
function weights({ depth, name, kind, total, base }: FlameRows): string[] {
  const path: string[] = [];
  const rows = name.map((word, row) => {
    path.length = depth[row];
    path.push(`${kind[row]}:${word}`);
    return `${path.join(";")} ${rounded(total[row])} ${base.length > 0 ? rounded(base[row]) : ""}`;
  });
  return rows.sort();
}
