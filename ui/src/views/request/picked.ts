// Leads from a row of the table of spans, or a place in the picture of all requests, to the shown request, and back.

import type { Interval } from "../../base/quantities.ts";
import type { Source, SpanRow, TableQuery } from "../../data/source.ts";
import type { PickedRequest } from "../../state/view_state.ts";

/** The table also finds words inside other words. So this many rows are requested and then filtered. */
const ASKED = 200;

export function requestOf({ t, duration, thread }: SpanRow): PickedRequest {
  return { from: t, to: t + Math.max(duration, 1), thread };
}

/** The longest requests that were in progress in some time, of a port or of all ports. */
export async function longestOf(
  from: Source,
  { time, took = null, port }: { time: Interval; took?: Interval | null; port: string },
  signal?: AbortSignal,
): Promise<readonly SpanRow[]> {
  const query: TableQuery = {
    ...{ from: Math.floor(time.from), to: Math.ceil(time.to), kinds: ["request"], took, threads: "all", find: port },
    ...{ sort: "duration", order: "desc", limit: ASKED, offset: 0 },
  };
  const { rows } = await from.table(query, signal);
  return rows.filter(({ name }) => port === "" || name === port);
}

/** The longest request that began in some time and whose duration is in a range; `null` if there is none. */
export async function requestAt(
  from: Source,
  began: Interval,
  took: Interval,
  port: string,
): Promise<PickedRequest | null> {
  const rows = await longestOf(from, { time: began, took, port });
  // The table also has those that began before and were still in progress.
  const row = rows.find(({ t }) => t >= began.from && t < began.to);
  return row ? requestOf(row) : null;
}

/** The recorded span of the shown request. */
export async function rowOf(from: Source, request: PickedRequest, signal?: AbortSignal): Promise<SpanRow | null> {
  const threads = request.thread < 0 ? "all" : [request.thread];
  const query: TableQuery = {
    ...{ from: request.from, to: request.from + 1, kinds: ["request"], took: null, threads, find: "" },
    ...{ sort: "time", order: "desc", limit: ASKED, offset: 0 },
  };
  const { rows } = await from.table(query, signal);
  return rows.find((row) => sameRequest(requestOf(row), request)) ?? null;
}

/** Whether two requests are the same. The address has whole nanoseconds. */
export function sameRequest(one: PickedRequest, other: PickedRequest | null): boolean {
  return other !== null && one.from === other.from && one.to === other.to && one.thread === other.thread;
}
