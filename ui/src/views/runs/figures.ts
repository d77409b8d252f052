// The figures of one run as text, for the tip, the table and screen readers. Pure.

import { amount, duration } from "../../base/numbers.ts";
import type { Nanoseconds } from "../../base/quantities.ts";
import type { Run, Runs } from "../../data/runs.ts";

/** A figure with its name. An unknown figure is a dash. */
export type Figure = readonly [title: string, text: string];

const UNKNOWN = "–";

/** The columns of the table: latency, or the stopped and the lost time if no run has requests. */
export function figuresOf(run: Run, hasRequests: boolean): Figure[] {
  const { latencies, length_ns } = run;
  if (hasRequests) {
    const text = (value: Nanoseconds | undefined): string => (value === undefined ? UNKNOWN : duration(value));
    return [
      ["p50", text(latencies?.p50_ns)],
      ["p99", text(latencies?.p99_ns)],
      ["mean", text(latencies?.mean_ns)],
    ];
  }
  const isKnown = length_ns > 0;
  return [
    ["stopped", isKnown ? amount(run.stopped, "ratio") : UNKNOWN],
    ["lost", isKnown ? amount(run.lost_ns / length_ns, "threads") : UNKNOWN],
  ];
}

/** Whether any run has requests. The runs without requests then have no figures. */
export function haveRequests(runs: readonly Run[]): boolean {
  return runs.some(({ latencies }) => latencies !== null);
}

export interface Lost {
  id: string;
  name: string;
  ns: Nanoseconds;
}

/** The causes of one run, sorted by lost time, the largest first. */
export function lostOf({ lost }: Pick<Runs, "lost">, run: number): Lost[] {
  const all = lost.map(({ id, name, ns }) => ({ id, name, ns: ns[run] }));
  return all.filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
}

/** The unit of lost time: per request, or per second if requests are unknown. */
export function lostPer(runs: readonly Run[]): string {
  const units = [...new Set(runs.map(({ latencies }) => (latencies === null ? "second" : "request")))];
  return units.sort().join(" or ");
}

/** The programs of the runs, if there are several. A change may then be a change of the program. */
export function programsOf(runs: readonly Run[]): string[] {
  const titles = [...new Set(runs.map(({ title }) => title))].filter((title) => title !== "");
  return titles.length > 1 ? titles : [];
}

/** The recordings that are not in the series, in one sentence; empty if none is missing. */
export function missingText({ runs, unread, unreadable, left_out }: Runs): string {
  const all = runs.length + unread + unreadable + left_out;
  const parts = [
    unread > 0 && `${all - unread} of ${all} recordings were read so far, so marks may still change`,
    unreadable > 0 && `${unreadable} cannot be read`,
    left_out > 0 && `${left_out} older ones are left out`,
  ];
  return parts.filter((part) => part).join("; ");
}

/** One run in words. */
export function runText(series: Runs, run: number): string {
  const { runs } = series;
  const figures = figuresOf(runs[run], haveRequests(runs)).map(([title, text]) => `${title} ${text}`);
  const lost = lostOf(series, run).map(({ name, ns }) => `${name} ${duration(ns)}`);
  return [`run ${run + 1} of ${runs.length}`, runs[run].name, ...figures, ...lost].join(", ");
}
