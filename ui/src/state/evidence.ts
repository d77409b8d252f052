// Leads from a claim to its data. Independent of causes: a piece of evidence names its counters, kinds of spans, events
// of samples, facts or roles of threads, and the overview says which of them exist. Missing data get no link.

import type { Evidence, Look } from "../data/explanation.ts";
import type { Overview } from "../data/overview.ts";
import { kindsOf, lanesOf } from "./look.ts";
import type { ViewState } from "./view_state.ts";

/** What the page should show, and which part of it to highlight. */
export interface Shown {
  change: Partial<ViewState>;
  /** The keys of the lanes that show it. */
  lanes: readonly string[];
  /** Whether it is shown below the lanes. */
  isBelow: boolean;
}

/** What the page can show for a piece of evidence of a cause; `null` if nothing. */
export function shownBy(item: Evidence, look: Look | undefined, known: Overview, now: ViewState): Shown | null {
  const words = item.of.length > 0 ? item.of : (look?.lanes ?? []);
  const lanes = lanesOf(words, known);
  const drawn = withLanes(now, lanes);
  const below = belowOf(item, words, look, known);
  if (below) return { change: { ...drawn, ...below }, lanes: item.table === "samples" ? [] : lanes, isBelow: true };
  return lanes.length > 0 && item.table === "counters" ? { change: drawn, lanes, isBelow: false } : null;
}

function belowOf(
  item: Evidence,
  words: readonly string[],
  look: Look | undefined,
  known: Overview,
): Partial<ViewState> | null {
  switch (item.table) {
    case "spans": {
      const kinds = kindsOf(words, known);
      return kinds.length > 0 ? { tab: "spans", kinds, find: "", took: null, threads: "" } : null;
    }
    case "samples":
      return ofSamples(item, known);
    case "account":
      return ofAccount(item, look, known);
    case "facts":
      return ofFacts(item, known);
    case "logs":
      return (known.logs ?? 0) > 0 ? { tab: "log", find: "" } : null;
    default:
      return null;
  }
}

/** The samples of the event that the evidence names. */
function ofSamples({ of, stack }: Evidence, { events }: Overview): Partial<ViewState> | null {
  const event = of.length === 0 ? events[0] : events.find(({ id }) => of.includes(id));
  return event ? { tab: "flame", event: event.id, search: stack.split(";")[0], zoom: null, threads: "" } : null;
}

/** Thread time: the stacks of the threads that it belongs to, and for waits, the stacks of these waits. */
function ofAccount(item: Evidence, look: Look | undefined, known: Overview): Partial<ViewState> | null {
  const event = known.events.find(({ id }) => id === look?.event) ?? known.events[0];
  if (!event) return null;
  const roles = item.of.filter((id) => known.threads.some(({ role }) => role === id));
  return { tab: "flame", event: event.id, search: item.stack.split(";")[0], zoom: null, threads: roles.join(",") };
}

function ofFacts({ of }: Evidence, { facts }: Overview): Partial<ViewState> | null {
  const key = of[0] ?? "";
  return facts.some((fact) => fact.key === key || key === "") ? { tab: "facts", find: key } : null;
}

/** Pins the lanes that are not drawn yet. */
function withLanes({ lanes, pins }: ViewState, wanted: readonly string[]): Partial<ViewState> {
  const missing = wanted.filter((key) => !lanes.includes(key) && !pins.includes(key));
  return missing.length > 0 ? { pins: [...pins, ...missing] } : {};
}
