// A recording inside the page: every query is answered from the pack, without a server.

import type { Overview, RecordingLine } from "../overview.ts";
import type { Runs } from "../runs.ts";
import type {
  Baseline,
  Comparison,
  CounterQuery,
  CounterSeries,
  FlameQuery,
  FlameRows,
  Frame,
  FramesQuery,
  Heat,
  HeatQuery,
  HottestFrames,
  Latency,
  LatencyQuery,
  Library,
  LogLine,
  LogQuery,
  Matching,
  RoleHeat,
  SandwichQuery,
  Selection,
  Source,
  SpanMarks,
  SpanRow,
  SpansQuery,
  SpanTable,
  SubsecondHeat,
  TableQuery,
} from "../source.ts";
import { NO_TIME } from "../source.ts";
import { latencyOf, logLines, series } from "../tables.ts";
import { above, below, CallTree, inverted, meantNodes, onlyBelow, preorder, type Weighed } from "./calls.ts";
import { byRole, roleStates, stateHeat } from "./cover.ts";
import { type LeftOut, leftOutOf } from "./density.ts";
import { hottest } from "./hottest.ts";
import type { Pack } from "./pack.ts";
import { eachSample, type Samples, sampleHeat, sampleSubsecond, samplesOf } from "./samples.ts";
import { clipped, marks, pageOf, spansOf } from "./spans.ts";

/** The one recording of a file. */
export class FileLibrary implements Library {
  readonly many = false;
  readonly #source: FileSource;

  constructor(pack: Pack) {
    this.#source = new FileSource(pack);
  }

  async recordings(): Promise<RecordingLine[]> {
    return [];
  }

  watched(): Promise<null> {
    return Promise.resolve(null);
  }

  runs(): Promise<Runs> {
    return Promise.reject(new Error("a single file holds one recording; fathom open FOLDER shows several"));
  }

  open(): Source {
    return this.#source;
  }

  compare(): Promise<Comparison> {
    return Promise.reject(new Error("a single file holds one recording; fathom open FOLDER compares"));
  }
}

/** Answers from a pack. */
export class FileSource implements Source {
  readonly #pack: Pack;
  readonly #overview: Overview;
  #samples: Samples | null = null;
  #tree: CallTree | null = null;
  #spans: SpanRow[] | null = null;
  #leftOut: Map<string, LeftOut[]> | null = null;

  constructor(pack: Pack) {
    this.#pack = pack;
    // The file has no rows of another recording: it cannot show the quiet time.
    this.#overview = { ...pack.overview, baseline_recording: null };
  }

  async overview(): Promise<Overview> {
    return this.#overview;
  }

  async counter(query: CounterQuery, signal?: AbortSignal): Promise<CounterSeries[]> {
    await turn(signal);
    const lane = this.#overview.lanes.find(({ id }) => id === query.lane);
    const none = new Float64Array();
    return query.instances.map((instance) => {
      const table = this.#pack.part(`counter/${query.lane}/${lane?.instances[instance] ?? ""}`);
      return table ? clipped(series(table), query) : { t: none, min: none, max: none, last: none };
    });
  }

  /** All rows, in the resolution of the file. */
  async latency({ port }: LatencyQuery, signal?: AbortSignal): Promise<Latency> {
    await turn(signal);
    const lane = this.#overview.lanes.find(({ kind }) => kind === "latency");
    const name = port === "" ? (lane?.instances[0] ?? "") : port;
    return latencyOf(this.#pack.part(`latency/${name}`), this.#pack.part(`latency_lines/${name}`));
  }

  async spans(query: SpansQuery, signal?: AbortSignal): Promise<SpanMarks> {
    await turn(signal);
    return marks(this.#allSpans(), this.#leftOutSpans(), query);
  }

  async table(query: TableQuery, signal?: AbortSignal): Promise<SpanTable> {
    await turn(signal);
    const names = this.#overview.threads.map((thread) => thread.name);
    return pageOf(this.#allSpans(), this.#leftOutSpans(), query, names);
  }

  async stack(id: number, signal?: AbortSignal): Promise<Frame[]> {
    await turn(signal);
    const tree = this.#callTree();
    const { name, kind, module } = tree.places;
    return tree.stack(id).map((place) => ({ name: name[place], kind: kind[place], module: module[place], line: 0 }));
  }

  async heat(query: HeatQuery, signal?: AbortSignal): Promise<Heat> {
    await turn(signal);
    if (query.by === "state") return stateHeat(this.#pack.part("cover"), query);
    const isTime = this.#unitOf(query.event) === "ns";
    return sampleHeat(this.#allSamples(), this.#eventIndex(query.event), query, isTime, this.#meant(query.matching));
  }

  async roleHeat(query: Omit<HeatQuery, "threads">, signal?: AbortSignal): Promise<RoleHeat> {
    const all = { ...query, threads: "all" } as const;
    if (query.by === "samples") return byRole(await this.heat(all, signal), this.#overview);
    await turn(signal);
    return roleStates(this.#pack.part("cover_roles"), all);
  }

  async subsecond(query: Selection & { rows: number }, signal?: AbortSignal): Promise<SubsecondHeat> {
    await turn(signal);
    return sampleSubsecond(this.#allSamples(), this.#eventIndex(query.event), query);
  }

  async flame(query: FlameQuery, signal?: AbortSignal): Promise<FlameRows> {
    await turn(signal);
    const { tree, samples, compared } = this.#weigh(query, query.baseline);
    if (query.root === undefined)
      return this.#rows(query.inverted ? inverted(tree) : tree, compared, query.event, samples);
    const rows = this.#rows(onlyBelow(tree, query.root), compared, query.event, samples);
    return from(rows, Math.max(rows.node.indexOf(query.root), 0));
  }

  async frames(query: FramesQuery, signal?: AbortSignal): Promise<HottestFrames> {
    await turn(signal);
    const { tree, compared } = this.#weigh(query, query.baseline);
    return hottest(tree, this.#callTree().places, { compared, sort: query.sort }, this.#unitOf(query.event));
  }

  async sandwich(query: SandwichQuery, signal?: AbortSignal): Promise<FlameRows> {
    await turn(signal);
    const { tree, samples } = this.#weigh(query, { kind: "none" });
    const { name } = this.#callTree().places;
    const wanted = { has: (place: number): boolean => name[place] === query.frame, as: name.indexOf(query.frame) };
    const side = query.side === "callees" ? below(tree, wanted) : above(tree, wanted);
    // It begins at its frame, not at the root above it.
    return from(this.#rows(side, false, query.event, samples), 1);
  }

  async log({ from, to, find, limit }: LogQuery, signal?: AbortSignal): Promise<LogLine[]> {
    await turn(signal);
    const table = this.#pack.part("logs");
    const wanted = find.toLowerCase();
    const lines = table ? logLines(table) : [];
    return lines
      .filter(({ t }) => t === NO_TIME || (t >= from && t < to))
      .filter((line) => line.text.toLowerCase().includes(wanted))
      .slice(0, limit);
  }

  async markdown(): Promise<string> {
    return this.#pack.markdown;
  }

  exported(): null {
    return null;
  }

  /** The weights of the selection and, if there is one, of the baseline, scaled to the same length of time. */
  #weigh(selection: Selection, baseline: Baseline): { tree: Weighed; samples: number; compared: boolean } {
    const own = this.#sum(selection, [selection]);
    const quiet = this.#intervalsOf(baseline);
    const base = this.#sum(selection, quiet);
    const length = quiet.reduce((sum, { from, to }) => sum + to - from, 0);
    const scale = length > 0 ? (selection.to - selection.from) / length : 0;
    const tree = { calls: this.#callTree().calls, self: own.self, baseSelf: base.self.map((weight) => weight * scale) };
    return { tree, samples: own.samples, compared: quiet.length > 0 };
  }

  #sum(
    selection: Selection,
    intervals: readonly { from: number; to: number }[],
  ): { self: Float64Array; samples: number } {
    const [tree, all] = [this.#callTree(), this.#allSamples()];
    const self = new Float64Array(tree.calls.parent.length);
    let samples = 0;
    for (const { from, to } of intervals) {
      eachSample(all, this.#eventIndex(selection.event), { from, to, threads: selection.threads }, (row, weight) => {
        const node = tree.nodeOfStack[all.stack[row]];
        if (node >= 0) self[node] += weight;
        samples += 1;
      });
    }
    return { self, samples };
  }

  /** Whether a stack matches. */
  #meant(matching: Matching | null | undefined): (stack: number) => boolean {
    if (!matching) return () => true;
    const { calls, places, nodeOfStack } = this.#callTree();
    const nodes = meantNodes(calls, places, matching);
    return (stack) => nodes[nodeOfStack[stack]] === 1;
  }

  #intervalsOf(baseline: Baseline): readonly { from: number; to: number }[] {
    if (baseline.kind === "interval") return [baseline];
    return baseline.kind === "quiet" ? this.#overview.baseline : [];
  }

  #rows(tree: Weighed, compared: boolean, event: string, samples: number): FlameRows {
    return preorder(tree, this.#callTree().places, compared, this.#unitOf(event), samples);
  }

  #allSamples(): Samples {
    this.#samples ??= samplesOf(this.#pack);
    return this.#samples;
  }

  #callTree(): CallTree {
    this.#tree ??= new CallTree(this.#pack);
    return this.#tree;
  }

  #allSpans(): SpanRow[] {
    this.#spans ??= spansOf(this.#pack);
    return this.#spans;
  }

  #leftOutSpans(): Map<string, LeftOut[]> {
    this.#leftOut ??= leftOutOf(this.#pack);
    return this.#leftOut;
  }

  #eventIndex(event: string): number {
    return this.#overview.events.findIndex(({ id }) => id === event);
  }

  #unitOf(event: string): string {
    return this.#overview.events.find(({ id }) => id === event)?.unit ?? "samples";
  }
}

/** Lets the page draw before the next answer is computed: both happen in the same thread. */
async function turn(signal?: AbortSignal): Promise<void> {
  await new Promise((done) => {
    if (typeof requestAnimationFrame === "undefined" || document.hidden) setTimeout(done);
    else requestAnimationFrame(() => setTimeout(done));
  });
  signal?.throwIfAborted();
}

/** The subtree of a row, which becomes the root. */
function from(rows: FlameRows, first: number): FlameRows {
  const rest = <T extends { slice(start: number): T }>(column: T): T => column.slice(first);
  const depth = rows.depth.slice(first);
  return {
    ...rows,
    depth: depth.map((at) => at - depth[0]),
    node: rest(rows.node),
    name: rest(rows.name),
    kind: rest(rows.kind),
    module: rest(rows.module),
    total: rest(rows.total),
    self: rest(rows.self),
    base: rest(rows.base),
  };
}
