// From a row of the table of spans, or a place in the picture of all requests, to the request that is looked into.

import type { Interval } from "../../base/quantities.ts";
import type { Source, SpanRow } from "../../data/source.ts";
import type { PickedRequest } from "../../state/view_state.ts";

export function requestOf({ t, duration, thread }: SpanRow): PickedRequest {
  return { from: t, to: t + Math.max(duration, 1), thread };
}

/** The longest request that began in some time and took from so long to so long; `null` if there is none. */
export async function requestAt(
  from: Source,
  began: Interval,
  took: Interval,
  port: string,
): Promise<PickedRequest | null> {
  const found = await from.table({
    ...{ from: Math.floor(began.from), to: Math.ceil(began.to), kinds: ["request"], took, threads: "all", find: port },
    ...{ sort: "duration", order: "desc", limit: 200, offset: 0 },
  });
  // The table also has those that began before and were still under way.
  const row = found.rows.find(({ t }) => t >= began.from && t < began.to);
  return row ? requestOf(row) : null;
}
