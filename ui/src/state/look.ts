// Where the page shows a cause, as a part of its state. Independent of causes: the explanation says which
// counters, kinds of spans, threads, stacks and instants show it, and the overview says which of them exist. Pure.

import type { Explanation, Instant, Look } from "../data/explanation.ts";
import type { Lane, Overview, SampleEvent } from "../data/overview.ts";
import type { ViewState } from "./view_state.ts";

/** The id of the unexplained time, in the list of causes. */
export const UNEXPLAINED = "unexplained";

/** The cause that is shown first. */
export function firstCause({ causes, slow }: Explanation): string {
  if (slow.length === 0) return "";
  return causes.find(({ verdict }) => verdict !== "ruled_out" && verdict !== "not_enough")?.id ?? UNEXPLAINED;
}

/** The role of threads that answer requests. */
const REQUESTS = "handler";

function lookOf(cause: string, { causes, unexplained }: Explanation): Look | undefined {
  return cause === UNEXPLAINED ? unexplained.look : causes.find(({ id }) => id === cause)?.look;
}

/** The worst instants of a cause. */
export function worstOf(cause: string, explanation: Explanation): readonly Instant[] {
  return lookOf(cause, explanation)?.worst ?? [];
}

/** The threads that answer requests, if they are known. */
function requestThreads({ threads }: Overview): string {
  return threads.some(({ role, samples }) => role === REQUESTS && samples > 0) ? REQUESTS : "";
}

/** Whether there is a quiet time to compare with the slow time. */
export function hasQuiet(known: Overview | null): boolean {
  return (known?.baseline.length ?? 0) > 0 || known?.baseline_recording != null;
}

/** Whether flame graphs are shown in pairs by default: those of the first cause, if stacks show it. */
export function isPaired(cause: string, known: Overview): boolean {
  const { explanation } = known;
  const isFirst = cause === firstCause(explanation) && cause !== UNEXPLAINED && cause !== "";
  return isFirst && hasQuiet(known) && !isWithoutStacks(cause, explanation);
}

/** Whether something shows the cause, but no stacks do. */
export function isWithoutStacks(cause: string, explanation: Explanation): boolean {
  return lookOf(cause, explanation)?.event === "";
}

/**
 * What the page shows when a cause is opened. A cause without data changes nothing. For unexplained time it
 * shows the threads where users wait: those that answer requests.
 */
export function showCause(cause: string, known: Overview): Partial<ViewState> {
  const look = lookOf(cause, known.explanation);
  const usual = cause === UNEXPLAINED || cause === "" ? requestThreads(known) : "";
  if (!look) return usual === "" ? {} : { threads: usual };
  const pins = lanesOf(look.lanes, known);
  const event = known.events.some(({ id }) => id === look.event) ? look.event : "";
  const rows = known.threads.filter(({ tid }) => look.threads.includes(tid)).map(({ index }) => String(index));
  const roles = look.roles.filter((role) => known.threads.some((thread) => thread.role === role));
  const search = event === "" ? "" : look.search;
  const shown = { pins, rows, threads: roles.join(",") || usual, search, zoom: null, find: "", took: null };
  if (event !== "") return { ...shown, event, tab: "flame" };
  return { ...shown, ...tabOf(look, known) };
}

/** The list that shows a cause best, if no stacks do. */
function tabOf({ table, lanes }: Look, known: Overview): Partial<ViewState> {
  const kinds = kindsOf(lanes, known);
  // The longest requests show it, with everything that happened in them.
  // For requests seen at a port, the answering thread is known. A latency file contains only durations.
  const port = known.lanes.find(({ kind }) => kind === "latency")?.instances.find(Boolean);
  if (lanes[0] === "request" && port) return { tab: "request", port };
  if (kinds.length > 0) return { tab: "spans", kinds };
  if (table === "facts" || table === "logs") return { tab: table === "logs" ? "log" : "facts" };
  return {};
}

/** The keys of the lanes for some words, without those that are always on top. */
export function lanesOf(words: readonly string[], { lanes }: Pick<Overview, "lanes">): string[] {
  const keys = words.flatMap((word) => {
    const [name, instance] = [word.split("|")[0], word.split("|")[1]];
    const has = (wanted: string) => (one: Lane) => !isOnTop(one) && (one.words ?? [one.id]).includes(wanted);
    // A figure of exactly this instance shows it best. If no instance is named, the figure of the fullest queue.
    const ofQueue = (one: Lane): boolean =>
      one.kind === "queue" && (one.words ?? []).some((other) => other.startsWith(`${word}|`));
    const lane = lanes.find(ofQueue) ?? lanes.find(has(word)) ?? lanes.find(has(name));
    if (!lane) return [];
    return [instance !== undefined && lane.instances.includes(instance) ? `${lane.id}|${instance}` : lane.id];
  });
  return [...new Set(keys)];
}

/** The kinds of spans among some words. */
export function kindsOf(words: readonly string[], { lanes }: Pick<Overview, "lanes">): string[] {
  const kinds = new Set(lanes.filter(({ kind }) => kind === "spans").flatMap((lane) => lane.kinds ?? []));
  return words.filter((word) => kinds.has(word));
}

/** Lanes on top of all others: the signals, and the stacked parts of a whole. */
export function isOnTop(lane: Lane): boolean {
  return lane.pain || lane.stacked === true;
}

/** The event with an id; without one, the most useful. */
export function eventOf(id: string, events: readonly SampleEvent[]): SampleEvent | null {
  return events.find((event) => event.id === id) ?? events[0] ?? null;
}

/** The chosen port, if there is a picture of it; else the leading port, which is the first. Empty for a latency file. */
export function portOf(chosen: string, lanes: readonly Lane[]): string {
  const ports = lanes.find(({ kind }) => kind === "latency")?.instances ?? [];
  return ports.includes(chosen) ? chosen : (ports[0] ?? "");
}

/**
 * The state with all open choices decided, so that its address always shows the same. If a state names its
 * lanes, it was decided before.
 */
export function settled(state: ViewState, known: Overview): ViewState {
  if (state.lanes.length > 0) return state;
  const cause = state.cause === "" ? firstCause(known.explanation) : state.cause;
  const lanes = known.lanes.filter(({ shown }) => shown).map(({ id }) => id);
  const decided = { lanes: lanes.length > 0 ? lanes : ["none"], cause, ...showCause(cause, known) };
  const open = Object.entries(decided).filter(([name]) => isOpen(state[name as keyof ViewState]));
  const full = { ...state, ...Object.fromEntries(open) };
  return { ...full, event: eventOf(full.event, known.events)?.id ?? "" };
}

function isOpen(value: unknown): boolean {
  return value === "" || value === null || (Array.isArray(value) && value.length === 0);
}
