// The page's state. Views read signals and call the actions below; nothing else changes the state.

import { batch, computed, effect, signal } from "@preact/signals";
import { type CssPixels, type Interval, type Nanoseconds, sameInterval } from "../base/quantities.ts";
import { spaced } from "../base/text.ts";
import { originOf, type Zone } from "../base/time.ts";
import type { Overview, SampleEvent } from "../data/overview.ts";
import type { Baseline, Library, Matching, Selection, Source, Threads } from "../data/source.ts";
import { followAddress, replaceAddress } from "./history.ts";
import { eventOf, firstCause, hasQuiet, isPaired, portOf, settled, showCause, worstOf } from "./look.ts";
import { DEFAULTS, threadsOf, type ViewState } from "./view_state.ts";
import { around, coverFor, mainStretch, within } from "./window.ts";

/** What is shown; the address is its text. */
export const view = signal<ViewState>(DEFAULTS);
export const library = signal<Library | null>(null);
export const source = signal<Source | null>(null);
export const overview = signal<Overview | null>(null);
/** Why the recording cannot be shown. */
export const failure = signal("");
/** The drawn width of the lanes; 0 until it is measured. */
export const plotWidth = signal<CssPixels>(0);
/** The instant under the pointer. */
export const pointed = signal<Nanoseconds | null>(null);

/** The whole time of the recording. */
export const limits = computed<Interval>(() => {
  const known = overview.value;
  return known ? { from: known.from, to: Math.max(known.to, known.from + 1) } : { from: 0, to: 1 };
});
const chosenWindow = computed(() => view.value.window);
/** The time that the lanes show. */
export const shownWindow = computed<Interval>(() =>
  chosenWindow.value ? within(chosenWindow.value, limits.value) : limits.value,
);
const askedEdges = computed(() => {
  const { from, to } = coverFor(shownWindow.value, limits.value);
  return `${from}|${to}`;
});
/** The time that lanes request: more than is shown, so that a small move needs no request. */
export const askedWindow = computed<Interval>(() => {
  const [from, to] = askedEdges.value.split("|").map(Number);
  return { from, to };
});
/** The time that was picked, if any. */
export const picked = computed(() => view.value.selection);
export const zone = computed<Zone>(() => view.value.zone);
export const origin = computed(() => originOf(overview.value?.origin_ns ?? "0"));
const threadText = computed(() => view.value.threads);
/** The threads whose stacks are shown. */
export const chosenThreads = computed<Threads>(() => threadsOf(threadText.value, overview.value?.threads ?? []));
/** The slow intervals, relative to the origin. */
export const slow = computed<Interval[]>(() =>
  (overview.value?.explanation.slow ?? []).map(({ from_ns, to_ns }) => ({
    from: relative(from_ns),
    to: relative(to_ns),
  })),
);
/** The event whose samples are shown. */
export const event = computed<SampleEvent | null>(() => eventOf(view.value.event, overview.value?.events ?? []));

/** The port whose requests are shown: the chosen one, or else the leading one. */
export const port = computed<string>(() => portOf(view.value.port, overview.value?.lanes ?? []));
/** The open cause: the chosen one, or else the first. */
export const opened = computed<string>(() => {
  const explanation = overview.value?.explanation;
  return explanation ? view.value.cause || firstCause(explanation) : "";
});

/** The worst instants of the open cause. */
export const worst = computed<Worst[]>(() => {
  const explanation = overview.value?.explanation;
  const instants = explanation ? worstOf(opened.value, explanation) : [];
  return instants.map(({ from_ns, to_ns, says }) => ({ from: relative(from_ns), to: relative(to_ns), says }));
});

/** The highlighted stacks: those below the zoomed frame, with the frame of the sandwich view, or with a search match. */
export const meant = computed<Matching | null>(() => {
  const { tab, frame, zoom, search } = view.value;
  if (tab === "frames" && frame !== "") return { frame };
  if (zoom !== null && "node" in zoom) return { below: zoom.node, name: zoom.name };
  return search === "" ? null : { find: search };
});

/** A time and one sentence about it. */
export interface Worst extends Interval {
  says: string;
}
/** What thread lanes show. */
export const heatOf = computed<"samples" | "state">(
  () => view.value.heat || (overview.value?.has?.cover ? "state" : "samples"),
);
/** Whether the quiet time can be shown next to the picked time: there is one, and there is no other baseline. */
export const canPair = computed<boolean>(() => hasQuiet(overview.value) && view.value.baseline.kind === "none");
/** Whether the flame graph of the quiet time is shown next to the flame graph. */
export const isPair = computed<boolean>(() => {
  const known = overview.value;
  if (!known || !canPair.value) return false;
  const { pair } = view.value;
  return pair === "" ? isPaired(opened.value, known) : pair === "two";
});
/** The samples for the pictures below the lanes: the picked time, or else the slow time, or everything. */
export const selection = computed<Selection>(() => {
  const time = picked.value ?? mainStretch(slow.value) ?? limits.value;
  return { ...time, threads: chosenThreads.value, event: event.value?.id ?? "" };
});

/** The title of a kind of spans: that of its lane. */
export function kindTitle(kind: string): string {
  const lane = overview.value?.lanes.find((one) => one.kind === "spans" && one.kinds?.[0] === kind);
  return lane?.title ?? spaced(kind);
}

/** Converts an instant of the explanation to the page's axis. */
export function relative(epochNs: number): Nanoseconds {
  return epochNs - origin.value * 1e6;
}

/** Changes a part of the state. */
export function update(change: Partial<ViewState>): void {
  view.value = { ...view.peek(), ...change };
}

/** Shows a time in the lanes; the whole recording if `null`. */
export function lookAt(window: Interval | null): void {
  if (!sameInterval(view.peek().window, window)) update({ window });
}

/** Picks a time, and moves the window if the time is not visible. */
export function pick(time: Interval | null, change: Partial<ViewState> = {}): void {
  const seen = shownWindow.peek();
  const isInSight =
    time === null || (time.from >= seen.from && time.to <= seen.to && seen.to - seen.from < 50 * (time.to - time.from));
  batch(() => update({ selection: time, ...(isInSight ? {} : { window: around(time, limits.peek()) }), ...change }));
}

/** Opens a recording in its initial state, or the list of recordings. Choices made in another recording do not apply. */
export function openRecording(recording: number | null): void {
  view.value = { ...DEFAULTS, recording, zone: view.peek().zone };
}

/** Opens a view of all recordings. */
export function openHome(tab: string): void {
  view.value = { ...DEFAULTS, tab, zone: view.peek().zone };
}

/** Compares a recording with another one. */
export function openCompared(recording: number, other: number): void {
  view.value = { ...DEFAULTS, recording, other, tab: "compare", zone: view.peek().zone };
}

/** Opens the only recording, without a Back step. */
export function openOnly(recording: number): void {
  const next = { ...view.peek(), recording };
  replaceAddress(next);
  view.value = next;
}

/** Picks a time, and zooms so that the time and its surroundings are visible. */
export function goTo({ from, to }: Interval): void {
  const time = { from: Math.floor(from), to: Math.max(Math.ceil(to), Math.floor(from) + 1) };
  batch(() => update({ selection: time, window: around(time, limits.peek(), 2) }));
}

/** Adds a word to a list of the state, or removes it. */
export function toggled(words: readonly string[], word: string): string[] {
  return words.includes(word) ? words.filter((other) => other !== word) : [...words, word];
}

/** Opens a cause and what shows it; `none` closes the open cause. */
export function openCause(cause: string): void {
  const known = overview.peek();
  update({ cause, ...(known && cause !== "none" ? { selection: null, ...showCause(cause, known) } : {}) });
}

/** Compares with another selection, the quiet time, another recording, or nothing. */
export function compareWith(baseline: Baseline): void {
  update({ baseline });
}

/** Loads the recording of the state, and keeps the address and the state in sync. */
export function start(recordings: Library): void {
  library.value = recordings;
  followAddress(view, (state) => {
    const known = overview.peek();
    return known && state.recording === view.peek().recording ? settled(state, known) : state;
  });
  const recording = computed(() => view.value.recording);
  effect(() => void load(recordings, recording.value));
}

async function load(recordings: Library, id: number | null): Promise<void> {
  batch(() => {
    source.value = null;
    overview.value = null;
    failure.value = "";
  });
  if (id === null && recordings.many) return;
  const opened = recordings.open(id ?? 0);
  try {
    const known = await opened.overview();
    if (view.peek().recording !== id) return;
    const state = settled(view.peek(), known);
    replaceAddress(state);
    batch(() => {
      source.value = opened;
      overview.value = known;
      view.value = state;
    });
  } catch (error) {
    if (view.peek().recording === id) failure.value = messageOf(error);
  }
}

/** An error as one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
