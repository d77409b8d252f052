// From a claim to what it was read from. No cause is known here: a piece of evidence names its counters, kinds of spans, events
// of samples, facts or roles of threads, and the overview says which of them there are. What is not there is no link.

import type { Evidence, Look } from "../data/explanation.ts";
import type { Overview } from "../data/overview.ts";
import { kindsOf, lanesOf } from "./look.ts";
import type { ViewState } from "./view_state.ts";

/** What the page has to show, and which part of it to point at. */
export interface Shown {
  change: Partial<ViewState>;
  /** Lanes that show it, by their keys. */
  lanes: readonly string[];
  /** Whether what is below the lanes shows it. */
  isBelow: boolean;
}

/** What the page has to show for a piece of evidence of a cause; nothing when it has nothing. */
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

/** The samples of the event that it names. */
function ofSamples({ of, stack }: Evidence, { events }: Overview): Partial<ViewState> | null {
  const event = of.length === 0 ? events[0] : events.find(({ id }) => of.includes(id));
  return event ? { tab: "flame", event: event.id, search: stack.split(";")[0], zoom: null, threads: "" } : null;
}

/** Thread time: the stacks of the threads whose it is, of what they waited for where it was that. */
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

/** Sees to it that the lanes are drawn. */
function withLanes({ lanes, pins }: ViewState, wanted: readonly string[]): Partial<ViewState> {
  const missing = wanted.filter((key) => !lanes.includes(key) && !pins.includes(key));
  return missing.length > 0 ? { pins: [...pins, ...missing] } : {};
}
