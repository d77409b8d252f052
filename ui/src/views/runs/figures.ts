// The figures of one run as text, for the tip, the table and those who hear the page. Pure.

import { amount, duration } from "../../base/numbers.ts";
import type { Nanoseconds } from "../../base/quantities.ts";
import type { Run, Runs } from "../../data/runs.ts";

/** A figure with its name; one that is not known is a dash. */
export type Figure = readonly [title: string, text: string];

const UNKNOWN = "–";

/** What stands in the columns of the table: latency, or how much was stopped and lost if no run has requests. */
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

/** Whether any run has requests: the others then have no figures. */
export function haveRequests(runs: readonly Run[]): boolean {
  return runs.some(({ latencies }) => latencies !== null);
}

export interface Lost {
  id: string;
  name: string;
  ns: Nanoseconds;
}

/** The causes of one run, the first one lost the most time. */
export function lostOf({ lost }: Pick<Runs, "lost">, run: number): Lost[] {
  const all = lost.map(({ id, name, ns }) => ({ id, name, ns: ns[run] }));
  return all.filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
}

/** What lost time is divided by: a request, or a second of a run whose requests are not known. */
export function lostPer(runs: readonly Run[]): string {
  const units = [...new Set(runs.map(({ latencies }) => (latencies === null ? "second" : "request")))];
  return units.sort().join(" or ");
}

/** The programs of the runs, if there are several: a change may then be that from one to the other. */
export function programsOf(runs: readonly Run[]): string[] {
  const titles = [...new Set(runs.map(({ title }) => title))].filter((title) => title !== "");
  return titles.length > 1 ? titles : [];
}

/** What is not in the series, in one sentence; empty if nothing is missing. */
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
