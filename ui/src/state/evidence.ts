// From a claim to what it was read from. No cause is known here: a piece of evidence names its counters, span kinds or roles
// of threads; where it names none, those of the catalogue's page are taken, by which the cause is judged. The lanes of the
// recording say which of them are there.

import { codeWords } from "../base/markdown.ts";
import type { Evidence } from "../data/explanation.ts";
import type { Overview } from "../data/overview.ts";
import { toggled } from "./store.ts";
import type { ViewState } from "./view_state.ts";

export interface Traces {
  /** Lanes that show what the cause is judged by. */
  lanes: string[];
  kinds: string[];
  roles: string[];
}

/** What of a cause's evidence this recording can show. */
export function tracesOf(cause: string, known: Overview): Traces {
  const section = known.pages[cause]?.sections.find(({ heading }) => heading === "Evidence");
  return tracesOfWords(new Set(codeWords(section?.text ?? "")), known);
}

function tracesOfWords(words: ReadonlySet<string>, known: Overview): Traces {
  const spans = known.lanes.filter(({ kind }) => kind === "spans");
  const roles = known.roles.filter(({ id }) => words.has(id) && known.threads.some(({ role }) => role === id));
  return {
    lanes: known.lanes.filter((lane) => (lane.words ?? [lane.id]).some((word) => words.has(word))).map(({ id }) => id),
    kinds: [...new Set(spans.flatMap((lane) => lane.kinds ?? []))].filter((kind) => words.has(kind)),
    roles: roles.map(({ id }) => id),
  };
}

/** What the page has to show for a piece of evidence, by the table that it was read from. */
export function showEvidence(item: Evidence, ofCause: Traces, known: Overview, now: ViewState): Partial<ViewState> {
  const traces = item.of.length > 0 ? tracesOfWords(new Set(item.of), known) : ofCause;
  const lanes = withLanes(now.lanes, traces.lanes, known);
  const leaf = item.stack.split(";")[0] ?? "";
  switch (item.table) {
    case "spans":
      return { tab: "spans", kinds: traces.kinds, find: "", lanes, threads: "" };
    case "samples":
      return { tab: "flame", search: leaf, lanes, threads: "" };
    case "account":
      return { tab: "flame", search: leaf, lanes, threads: traces.roles.join(",") };
    case "facts":
      return { tab: "facts", find: item.of[0] ?? "" };
    case "logs":
      return { tab: "log", find: "" };
    default:
      return { lanes, search: leaf };
  }
}

/** Sees to it that the lanes are drawn, whatever their default is. */
function withLanes(changed: readonly string[], wanted: readonly string[], known: Overview): readonly string[] {
  const hidden = known.lanes.filter(({ id, shown }) => wanted.includes(id) && shown === changed.includes(id));
  return hidden.reduce<readonly string[]>((all, { id }) => toggled(all, id), changed);
}
