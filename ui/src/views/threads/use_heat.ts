// The cells of threads and roles for the visible time, with the query that they answer.

import type { Interval } from "../../base/quantities.ts";
import type { Heat, HeatQuery, Matching, RoleHeat, Source } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { askedWindow, event, heatOf, source } from "../../state/store.ts";

/** Cells, and the query that they answer. */
export interface Answered<T> extends Interval {
  heat: T;
}

interface Asked {
  columns: number;
  /** What thread lanes show by default. */
  by?: HeatQuery["by"];
  /** For samples: only these stacks; `null` asks nothing. */
  matching?: Matching | null;
}

export function useHeat(asked: Asked & { threads: readonly number[] }): Answered<Heat> | null {
  return useQuery(asked, asked.threads.length > 0, (from, query, signal) => from.heat(query, signal));
}

export function useRoleHeat(asked: Asked): Answered<RoleHeat> | null {
  return useQuery(asked, true, (from, query, signal) => from.roleHeat(query, signal));
}

function useQuery<Q extends Asked, T>(
  asked: Q,
  isWanted: boolean,
  ask: (from: Source, query: Q & Omit<HeatQuery, "columns" | "threads">, signal: AbortSignal) => Promise<T>,
): Answered<T> | null {
  const from = source.value;
  const window = askedWindow.value;
  const query = { ...window, event: event.value?.id ?? "", ...asked, by: asked.by ?? heatOf.value };
  const isThere = query.by === "state" || query.event !== "";
  const isAsked = from !== null && isWanted && isThere && asked.matching !== null;
  const question = isAsked ? JSON.stringify(query) : null;
  const answer = useAnswer<Answered<T>>(
    question,
    async (signal) => {
      if (!from) throw new Error("no recording");
      return { heat: await ask(from, query, signal), ...window };
    },
    60,
  );
  return asked.matching === null ? null : answer.value;
}
