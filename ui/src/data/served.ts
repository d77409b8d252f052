// A recording on the server: each query is a request, each answer an Arrow stream or JSON.
//
// URLs are relative, so the page works under any token and prefix. A request that is no longer needed is aborted.

import { Columns } from "./arrow.ts";
import type { Overview, RecordingLine } from "./overview.ts";
import type { Runs } from "./runs.ts";
import {
  type Baseline,
  type Comparison,
  type CounterQuery,
  type CounterSeries,
  type ExportFormat,
  type FlameQuery,
  type FlameRows,
  type Frame,
  type FramesQuery,
  type Heat,
  type HeatQuery,
  type HottestFrames,
  type Latency,
  type LatencyQuery,
  type Library,
  type LogLine,
  type LogQuery,
  type Matching,
  type RoleHeat,
  type SandwichQuery,
  type Selection,
  ServerGone,
  type Source,
  type SpanMarks,
  type SpansQuery,
  type SpanTable,
  type SubsecondHeat,
  type TableQuery,
  type Threads,
} from "./source.ts";
import {
  flameRows,
  frameList,
  heatCells,
  latencyOf,
  logLines,
  roleCells,
  seriesOf,
  spanMarks,
  spanTable,
  subsecondCells,
} from "./tables.ts";
import type { Watched } from "./watched.ts";

type Parameters = Record<string, string | number>;

/** The recordings of the server that served the page, or of the server at `address`. */
export class ServedLibrary implements Library {
  readonly many = true;
  readonly #address: string;
  readonly #known: Overview | null;

  /** `known` is an overview that came with the page. */
  constructor(address = "", known: Overview | null = null) {
    this.#address = address;
    this.#known = known;
  }

  recordings(): Promise<RecordingLine[]> {
    return json(`${this.#address}api/recordings`, {});
  }

  watched(): Promise<Watched | null> {
    return json(`${this.#address}api/watched`, {});
  }

  runs(): Promise<Runs> {
    return json(`${this.#address}api/runs`, {});
  }

  open(id: number): Source {
    return new ServedSource(`${this.#address}api/r/${id}`, this.#known?.id === id ? this.#known : null);
  }

  compare(a: number, b: number): Promise<Comparison> {
    return json(`${this.#address}api/compare`, { a, b });
  }
}

class ServedSource implements Source {
  readonly #base: string;
  readonly #known: Overview | null;

  constructor(base: string, known: Overview | null) {
    this.#base = base;
    this.#known = known;
  }

  async overview(): Promise<Overview> {
    return this.#known ?? json(`${this.#base}/overview`, {});
  }

  async counter({ lane, instances, from, to, width }: CounterQuery, signal?: AbortSignal): Promise<CounterSeries[]> {
    const asked = { lane, instances: threadList(instances), ...range(from, to), width };
    return seriesOf(await this.#table("counter", asked, signal), instances);
  }

  async latency({ from, to, columns, parts, port }: LatencyQuery, signal?: AbortSignal): Promise<Latency> {
    const of: Parameters = port === "" ? {} : { port };
    const [cells, lines] = await Promise.all([
      this.#table("latency", { ...range(from, to), ...of, columns, as: "cells" }, signal),
      this.#table("latency", { ...range(from, to), ...of, columns: parts, as: "lines" }, signal),
    ]);
    return latencyOf(cells, lines);
  }

  async spans({ kinds, width, threads, from, to }: SpansQuery, signal?: AbortSignal): Promise<SpanMarks> {
    const asked = { kinds: kinds.join(","), width, threads: threadList(threads), ...range(from, to) };
    return spanMarks(await this.#table("spans", asked, signal));
  }

  async table(query: TableQuery, signal?: AbortSignal): Promise<SpanTable> {
    const { sort, order, limit, offset, find, from, to } = query;
    const which = { kinds: query.kinds.join(","), threads: threadList(query.threads), ...range(from, to) };
    const took: Parameters = query.took ? { at_least: query.took.from, at_most: query.took.to } : {};
    return spanTable(await this.#table("table", { ...which, ...took, sort, order, limit, offset, find }, signal));
  }

  async stack(id: number, signal?: AbortSignal): Promise<Frame[]> {
    return (await json<{ frames: Frame[] }>(`${this.#base}/stack`, { id }, signal)).frames;
  }

  async heat({ by, event, columns, threads, matching, from, to }: HeatQuery, signal?: AbortSignal): Promise<Heat> {
    const asked = { by, event, columns, threads: threadList(threads), ...matched(matching), ...range(from, to) };
    return heatCells(await this.#table("heat", asked, signal));
  }

  async roleHeat(
    { by, event, columns, matching, from, to }: Omit<HeatQuery, "threads">,
    signal?: AbortSignal,
  ): Promise<RoleHeat> {
    const asked = { by, event, columns, sum: "role", ...matched(matching), ...range(from, to) };
    return roleCells(await this.#table("heat", asked, signal));
  }

  async subsecond(query: Selection & { rows: number }, signal?: AbortSignal): Promise<SubsecondHeat> {
    return subsecondCells(await this.#table("subsecond", { ...selected(query), rows: query.rows }, signal));
  }

  async flame(query: FlameQuery, signal?: AbortSignal): Promise<FlameRows> {
    const asked = { ...selected(query), inverted: query.inverted ? 1 : 0, baseline: baselineText(query.baseline) };
    const below: Parameters = query.root === undefined ? {} : { root: query.root };
    return flameRows(await this.#table("flame", { ...asked, ...below }, signal));
  }

  async frames(query: FramesQuery, signal?: AbortSignal): Promise<HottestFrames> {
    const asked = { ...selected(query), baseline: baselineText(query.baseline), sort: query.sort, limit: 200 };
    return frameList(await this.#table("frames", asked, signal));
  }

  async sandwich(query: SandwichQuery, signal?: AbortSignal): Promise<FlameRows> {
    return flameRows(
      await this.#table("sandwich", { ...selected(query), frame: query.frame, side: query.side }, signal),
    );
  }

  async log({ from, to, find, limit }: LogQuery, signal?: AbortSignal): Promise<LogLine[]> {
    return logLines(await this.#table("log", { ...range(from, to), find, limit }, signal));
  }

  async markdown(): Promise<string> {
    return (await get(`${this.#base}/markdown`, {})).text();
  }

  exported(query: Selection, format: ExportFormat): string {
    return addressOf(`${this.#base}/export`, { ...selected(query), format });
  }

  async #table(name: string, parameters: Parameters, signal?: AbortSignal): Promise<Columns> {
    const answer = await get(`${this.#base}/${name}`, parameters, signal);
    return Columns.read(await answer.arrayBuffer());
  }
}

async function json<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
  return (await get(path, parameters, signal)).json() as Promise<T>;
}

async function get(path: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  const answer = await fetch(addressOf(path, parameters), signal ? { signal } : {}).catch(goneUnless(signal));
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
  return answer;
}

function addressOf(path: string, parameters: Parameters): string {
  const asked = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  return asked.size > 0 ? `${path}?${asked}` : path;
}

/** A request without an answer was aborted by the page, or the server is gone. */
function goneUnless(signal?: AbortSignal): (error: unknown) => never {
  return (error) => {
    throw signal?.aborted ? error : new ServerGone();
  };
}

function range(from: number, to: number): { from: number; to: number } {
  return { from: Math.floor(from), to: Math.ceil(to) };
}

function matched(matching: Matching | null | undefined): Parameters {
  if (!matching) return {};
  return "below" in matching ? { below: matching.below } : { ...matching };
}

function selected({ from, to, threads, event }: Selection): Parameters {
  return { ...range(from, to), threads: threadList(threads), event };
}

/** Indexes as a list with ranges: the threads of a role have neighbouring indexes. */
export function threadList(threads: Threads): string {
  if (threads === "all") return "all";
  const ranges: [number, number][] = [];
  for (const index of [...threads].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && index <= last[1] + 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** A baseline as text for a URL. */
export function baselineText(baseline: Baseline): string {
  if (baseline.kind === "interval") return `${Math.floor(baseline.from)}..${Math.ceil(baseline.to)}`;
  if (baseline.kind === "recording") return `recording:${baseline.id}`;
  return baseline.kind === "quiet" ? "baseline" : "none";
}
