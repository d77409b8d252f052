// Lines and quantiles of the other recording of a comparison, on this one's axis.

import type { Nanoseconds } from "../../base/quantities.ts";
import type { Lane } from "../../data/overview.ts";
import type { CounterSeries, LatencyLines, LatencyQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { ghost } from "../../state/ghost.ts";
import { askedWindow, plotWidth } from "../../state/store.ts";

const NONE: readonly CounterSeries[] = [];

/** The other recording's lines of the same names. Missing lines are empty. */
export function useGhostSeries(lane: Lane, instances: readonly string[]): readonly CounterSeries[] {
  const other = ghost.value;
  const there = other?.overview.lanes.find(({ id }) => id === lane.id);
  const places = instances.map((name) => there?.instances.indexOf(name) ?? -1).filter((place) => place >= 0);
  const [shift, width] = [other?.shift ?? 0, Math.ceil(plotWidth.value * 2)];
  const query = { lane: lane.id, instances: places, ...shifted(-shift), width };
  const question = other && places.length > 0 ? JSON.stringify([query, other.overview.id]) : null;
  const { value } = useAnswer(
    question,
    async (signal) => (await other?.source.counter(query, signal))?.map((line) => moved(line, shift)) ?? NONE,
    60,
  );
  return question === null ? NONE : (value ?? NONE);
}

/** The quantiles of its requests: of the same port, or of its leading port. */
export function useGhostLatency(asked: LatencyQuery): LatencyLines | null {
  const other = ghost.value;
  const there = other?.overview.lanes.find(({ kind }) => kind === "latency");
  const shift = other?.shift ?? 0;
  const query = { ...asked, ...shifted(-shift), port: there?.instances.includes(asked.port) ? asked.port : "" };
  const question = other && there ? JSON.stringify([query, other.overview.id]) : null;
  const { value } = useAnswer(
    question,
    async (signal) => {
      const lines = (await other?.source.latency(query, signal))?.lines;
      return lines ? { ...lines, t: lines.t.map((at) => at + shift) } : null;
    },
    60,
  );
  return question === null ? null : value;
}

function shifted(by: Nanoseconds): { from: Nanoseconds; to: Nanoseconds } {
  return { from: askedWindow.value.from + by, to: askedWindow.value.to + by };
}

function moved(line: CounterSeries, by: Nanoseconds): CounterSeries {
  return { ...line, t: line.t.map((at) => at + by) };
}
