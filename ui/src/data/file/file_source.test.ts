import { describe, expect, test } from "vitest";
import { overviewOf, packOf, threadsOf, type World } from "../../../test/world.ts";
import type { Explanation } from "../explanation.ts";
import type { FlameQuery, FlameRows, Matching } from "../source.ts";
import { FileSource } from "./index.ts";
import { Pack, unpack } from "./pack.ts";

const NOTHING: Explanation = {
  schema: 1,
  recording: { title: "", pid: null, jvm: "", collector: "", cpus: null, from_ns: 0, to_ns: 0, sources: [], tier: 0 },
  headline: { kind: "nothing_slow", says: "nothing was slow", but: [] },
  slow: [],
  baseline: { kind: "none", says: "", duration_ns: 0 },
  figures: [],
  causes: [],
  unexplained: { share: 0, says: "", stacks: [] },
  losses: [],
};

// Ten seconds. A handler parses all the time (10 ms samples). From 4 s on the compiler runs as well, twice as often in
// the last second. Two pause spans touch, one is long.
const WORLD: World = {
  overview: overviewOf(NOTHING, {
    threads: threadsOf(["handler", "handler", 2], ["compiler", "C2", 1]),
    baseline: [{ from: 0, to: 4e9 }],
  }),
  activities: [
    { thread: 0, from_ms: 0, to_ms: 10_000, every_ms: 10, stack: "compiled:run;compiled:parse;inlined:scan" },
    { thread: 1, from_ms: 0, to_ms: 10_000, every_ms: 20, stack: "compiled:run;compiled:write" },
    { thread: 2, from_ms: 4_000, to_ms: 9_000, every_ms: 10, stack: "vm:loop;vm:compile;vm:compile" },
    { thread: 2, from_ms: 9_000, to_ms: 10_000, every_ms: 5, stack: "vm:loop;vm:compile;kernel:fault" },
  ],
  spans: [
    { t: 1e9, duration: 1_000, thread: -1, kind: "gc_pause", name: "young" },
    { t: 1e9 + 2_000, duration: 1_000, thread: 0, kind: "gc_pause", name: "young" },
    { t: 5e9, duration: 2e9, thread: -1, kind: "gc_pause", name: "full", detail: '{"cause":"Metadata GC Threshold"}' },
    { t: 6e9, duration: 5e6, thread: 2, kind: "compilation", name: "shop.Cart.add" },
  ],
  counters: {
    "heap/": [
      [0, 1],
      [1_000, 5],
      [2_000, 3],
    ],
  },
};

const SOURCE = new FileSource(new Pack(packOf(WORLD)));
const ALL: FlameQuery = {
  from: 0,
  to: 10e9,
  threads: "all",
  event: "cpu",
  inverted: false,
  baseline: { kind: "none" },
};

/** A tree as a drawing, in milliseconds. */
function drawing({ depth, name, total }: FlameRows): string[] {
  return name.map((word, row) => `${"  ".repeat(depth[row])}${word} ${Math.round(total[row] / 1e6)}`);
}

describe("flame graphs", () => {
  test("of everything", async () => {
    const rows = await SOURCE.flame(ALL);
    expect(drawing(rows)).toEqual([
      "all 26000",
      "  run 20000",
      "    parse 10000",
      "      scan 10000",
      "    write 10000",
      "  loop 6000",
      "    compile 6000",
      "      compile 5000",
      "      fault 1000",
    ]);
    expect(rows.samples).toBe(1_000 + 500 + 500 + 200);
    expect(rows.kind).toContain("inlined");
  });

  test("of a time and a thread", async () => {
    const rows = await SOURCE.flame({ ...ALL, from: 8e9, to: 9.5e9, threads: [2] });
    expect(drawing(rows)).toEqual([
      "all 1500",
      "  loop 1500",
      "    compile 1500",
      "      compile 1000",
      "      fault 500",
    ]);
  });

  test("from the leaves", async () => {
    const rows = await SOURCE.flame({ ...ALL, threads: [2], inverted: true });
    expect(drawing(rows)).toEqual([
      "all 6000",
      "  compile 5000",
      "    compile 5000",
      "      loop 5000",
      "  fault 1000",
      "    compile 1000",
      "      loop 1000",
    ]);
  });

  test("of what is below one node", async () => {
    const all = await SOURCE.flame(ALL);
    const root = all.node[all.name.indexOf("compile")];
    expect(drawing(await SOURCE.flame({ ...ALL, root }))).toEqual(["compile 6000", "  compile 5000", "  fault 1000"]);
  });

  test("against the quiet time, for the same length", async () => {
    const rows = await SOURCE.flame({ ...ALL, from: 4e9, to: 6e9, baseline: { kind: "quiet" } });
    const base = Object.fromEntries(rows.name.map((name, row) => [name, Math.round(rows.base[row] / 1e6)]));
    expect(base).toMatchObject({ all: 4_000, run: 4_000, parse: 2_000, loop: 0 });
    expect(rows.total[0]).toBeCloseTo(6e9, -3);
  });

  test("against a quiet time that there is not", async () => {
    const unquiet = new FileSource(new Pack(packOf({ ...WORLD, overview: { ...WORLD.overview, baseline: [] } })));
    const query = { ...ALL, baseline: { kind: "quiet" } as const };
    expect((await unquiet.flame(query)).base).toHaveLength(0);
    expect((await unquiet.frames({ ...query, sort: "self" })).frames[0].baseSelf).toBeNaN();
  });

  test("of nothing", async () => {
    expect(drawing(await SOURCE.flame({ ...ALL, threads: [] }))).toEqual(["all 0"]);
    expect(drawing(await SOURCE.flame({ ...ALL, event: "wall" }))).toEqual(["all 0"]);
  });
});

test("another recording that it was compared with is not in the file", async () => {
  const compared = { ...WORLD.overview, baseline: [], baseline_recording: "before.fathom" };
  const source = new FileSource(new Pack(packOf({ ...WORLD, overview: compared })));
  expect((await source.overview()).baseline_recording).toBeNull();
});

test("the hottest frames count a recursion once", async () => {
  const { frames, total } = await SOURCE.frames({ ...ALL, baseline: { kind: "none" }, sort: "self" });
  expect(total).toBeCloseTo(26e9, -3);
  const named = frames.map(({ name, self, total: all }) => [name, Math.round(self / 1e6), Math.round(all / 1e6)]);
  expect(named).toEqual([
    ["scan", 10_000, 10_000],
    ["write", 10_000, 10_000],
    ["compile", 5_000, 6_000],
    ["fault", 1_000, 1_000],
    ["run", 0, 20_000],
    ["parse", 0, 10_000],
    ["loop", 0, 6_000],
  ]);
});

test("the frames that grew most", async () => {
  const query = { ...ALL, from: 4e9, to: 10e9, baseline: { kind: "quiet" }, sort: "growth" } as const;
  const { frames } = await SOURCE.frames(query);
  expect(frames.slice(0, 2).map(({ name, self, baseSelf }) => [name, self - baseSelf])).toEqual([
    ["compile", 5e9],
    ["fault", 1e9],
  ]);
});

test("callers and callees of a frame", async () => {
  const query = { ...ALL, frame: "compile" };
  expect(drawing(await SOURCE.sandwich({ ...query, side: "callees" }))).toEqual([
    "compile 6000",
    "  compile 5000",
    "  fault 1000",
  ]);
  expect(drawing(await SOURCE.sandwich({ ...query, side: "callers" }))).toEqual(["compile 6000", "  loop 6000"]);
  expect(await SOURCE.sandwich({ ...query, frame: "nobody", side: "callers" })).toMatchObject({ name: [] });
});

test("heat per thread and column", async () => {
  const heat = await SOURCE.heat({ ...ALL, by: "samples", columns: 10 });
  const cells = [...heat.thread].map((thread, cell) => [thread, heat.column[cell], Math.round(heat.value[cell] / 1e6)]);
  expect(cells).toHaveLength(26);
  expect(cells).toContainEqual([0, 0, 1_000]);
  expect(cells).toContainEqual([2, 4, 1_000]);
  expect(cells.filter(([thread]) => thread === 2).map(([, column]) => column)).toEqual([4, 5, 6, 7, 8, 9]);
  expect(heat.full).toBe(1e9);
});

test("heat of the stacks that are meant alone", async () => {
  const weight = async (matching: Matching): Promise<number> => {
    const { value } = await SOURCE.heat({ ...ALL, by: "samples", columns: 10, matching });
    return value.reduce((sum, one) => sum + one, 0);
  };
  const graph = await SOURCE.flame({ ...ALL, inverted: false, baseline: { kind: "none" } });
  const total = (name: string): number => graph.total[graph.name.indexOf(name)];
  expect(await weight({ find: "COMP" })).toBeCloseTo(total("compile"), -3);
  expect(await weight({ find: "/^(scan|write)$/" })).toBeCloseTo(total("scan") + total("write"), -3);
  expect(await weight({ frame: "parse" })).toBeCloseTo(total("parse"), -3);
  const node = graph.node[graph.name.indexOf("parse")];
  expect(await weight({ below: node, name: "parse" })).toBeCloseTo(total("parse"), -3);
  expect(await weight({ frame: "pars" })).toBe(0);
});

test("seconds and their fractions", async () => {
  const heat = await SOURCE.subsecond({ ...ALL, threads: [2], rows: 4 });
  const cells = [...heat.second].map((second, cell) => [second, heat.row[cell], Math.round(heat.weight[cell] / 1e6)]);
  expect(cells).toHaveLength(24);
  expect(cells[0]).toEqual([4, 0, 250]);
});

test("spans shorter than a pixel that touch are one mark", async () => {
  const query = { from: 0, to: 10e9, kinds: ["gc_pause"], threads: "all" as const };
  const far = await SOURCE.spans({ ...query, width: 100 });
  expect([...far.longest]).toContain(1_000);
  expect([[...far.t], [...far.merged], [...far.thread]]).toEqual([
    [1e9, 5e9],
    [2, 1],
    [-1, -1],
  ]);
  const near = await SOURCE.spans({ ...query, from: 1e9, to: 1e9 + 10_000, width: 1_000 });
  expect([...near.merged]).toEqual([1, 1]);
});

test("the table of spans is sorted, narrowed and cut", async () => {
  const query = { from: 0, to: 10e9, kinds: [], threads: "all", find: "", sort: "duration", order: "desc" } as const;
  const all = await SOURCE.table({ ...query, limit: 2, offset: 0 });
  expect(all.rows.map(({ name }) => name)).toEqual(["full", "shop.Cart.add"]);
  expect([all.total, all.totalDuration]).toEqual([4, 2e9 + 5e6 + 2_000]);
  const found = await SOURCE.table({ ...query, find: "METADATA", limit: 9, offset: 0 });
  expect(found.rows.map(({ name }) => name)).toEqual(["full"]);
  const ofThread = await SOURCE.table({ ...query, threads: [2], limit: 9, offset: 0 });
  expect(ofThread.rows.map(({ kind }) => kind)).toEqual(["compilation"]);
});

describe("spans that were left out", () => {
  const leftOut = [
    { kind: "gc_pause", second: 2, count: 100, total: 50e6, longest: 900 },
    { kind: "gc_pause", second: 3, count: 10, total: 5e6, longest: 800 },
  ];
  const source = new FileSource(new Pack(packOf({ ...WORLD, leftOut })));
  const query = { from: 0, to: 10e9, kinds: ["gc_pause"], threads: "all" as const };
  const asked = { ...query, find: "", sort: "duration", order: "desc", limit: 9, offset: 0 } as const;

  test("are drawn as how many there were", async () => {
    const marks = await source.spans({ ...query, width: 100 });
    expect([...marks.merged].sort((a, b) => a - b)).toEqual([1, 2, 10, 100]);
    expect([...marks.longest]).toContain(900);
    const some = await source.spans({ ...query, threads: [0], width: 100 });
    expect([...some.merged]).toEqual([1]);
  });

  test("are counted", async () => {
    const { total, totalDuration, held, isPart } = await source.table(asked);
    expect([total, totalDuration, held, isPart]).toEqual([113, 2_055_002_000, 3, false]);
    const half = await source.table({ ...asked, from: 2.5e9, to: 4e9 });
    expect([half.total, half.totalDuration, half.held]).toEqual([60, 30e6, 0]);
    expect((await source.table({ ...asked, kinds: ["compilation"] })).total).toBe(1);
  });

  test("cannot be searched, and that is known", async () => {
    expect(await source.table({ ...asked, find: "full" })).toMatchObject({ total: 1, held: 1, isPart: true });
    expect(await source.table({ ...asked, threads: [2] })).toMatchObject({ total: 0, isPart: true });
    expect(await source.table({ ...asked, kinds: ["compilation"], find: "x" })).toMatchObject({ isPart: false });
  });
});

test("a counter keeps the value that holds at the beginning", async () => {
  const [part] = await SOURCE.counter({ lane: "heap", instances: [0], from: 0.5e9, to: 1.5e9, width: 100 });
  expect([...part.last]).toEqual([1, 5, 3]);
  const [none] = await SOURCE.counter({ lane: "no such lane", instances: [0], from: 0, to: 1, width: 100 });
  expect(none.t).toHaveLength(0);
});

test("stacks leaf first", async () => {
  expect((await SOURCE.stack(3)).map(({ name }) => name)).toEqual(["scan", "parse", "run"]);
  expect(await SOURCE.stack(0)).toEqual([]);
  expect(await SOURCE.stack(99)).toEqual([]);
});

test("the text of the page's element becomes the pack", async () => {
  const packed = new Blob([packOf(WORLD).slice()]).stream().pipeThrough(new CompressionStream("gzip"));
  const base64 = Buffer.from(await new Response(packed).arrayBuffer()).toString("base64");
  const pack = await unpack(`\n${base64}\n`);
  expect(pack.overview.threads).toHaveLength(3);
  await expect(unpack("bm90aGluZw==")).rejects.toThrow();
});
