// The part of the page's state that a link contains: one record, and its text after the `#`.
//
// A link may come from anywhere: unreadable entries keep their defaults.

import type { Interval } from "../base/quantities.ts";
import type { Zone } from "../base/time.ts";
import { baselineText } from "../data/served.ts";
import type { Baseline, Threads } from "../data/source.ts";

export interface ViewState {
  recording: number | null;
  /** The other recording of a comparison. */
  other: number | null;
  /** The time that the lanes show; by default all of it. */
  window: Interval | null;
  /** The picked time; by default the slow time, or everything. */
  selection: Interval | null;
  /** Roles and indexes of threads, such as `compiler,3-5`; by default all. */
  threads: string;
  event: string;
  baseline: Baseline;
  tab: string;
  /** The open cause. */
  cause: string;
  /** The search text for stacks. */
  search: string;
  /** The zoomed frame of the flame graph. */
  zoom: ZoomedFrame | null;
  inverted: boolean;
  /** Whether recursion is drawn as one frame. */
  folded: boolean;
  /** The frame whose callers and callees are shown. */
  frame: string;
  /** Lanes in their order, `LANE` or `LANE|INSTANCE`; empty before anything was decided. */
  lanes: readonly string[];
  /** The lanes that are pinned directly below the signals. */
  pins: readonly string[];
  /** The lanes that are folded to a strip. */
  thin: readonly string[];
  /** The indexes of threads that are shown above the others. */
  rows: readonly string[];
  /** Roles whose threads are all shown. */
  opened: readonly string[];
  /** Filters of the table of spans: kinds and words. */
  kinds: readonly string[];
  find: string;
  /** Filter of the table of spans: their duration. */
  took: Interval | null;
  /** The port whose requests are drawn; by default the one that defines the slow time. */
  port: string;
  /** The request that is shown in detail. */
  request: PickedRequest | null;
  /** What thread lanes show; by default the states, if the recording has them. */
  heat: "" | "samples" | "state";
  /** Whether the quiet time's flame graph is shown next to that of the picked time; by default only for the first cause. */
  pair: "" | "one" | "two";
  zone: Zone;
}

/** A request, or another span of one thread. */
export interface PickedRequest extends Interval {
  /** The index of the thread that answered; -1 if unknown. */
  thread: number;
}

/** The frame at the end of a path: a node of the plain flame graph, or a hash of the path if it has no node. */
export type ZoomedFrame = { node: number; name: string } | { path: string; name: string };

export const DEFAULTS: ViewState = {
  recording: null,
  other: null,
  window: null,
  selection: null,
  threads: "",
  event: "",
  baseline: { kind: "none" },
  tab: "",
  cause: "",
  search: "",
  zoom: null,
  inverted: false,
  folded: false,
  frame: "",
  lanes: [],
  pins: [],
  thin: [],
  rows: [],
  opened: [],
  kinds: [],
  find: "",
  took: null,
  port: "",
  request: null,
  heat: "",
  pair: "",
  zone: "utc",
};

/** Writes and reads one entry. `null` means that the text is invalid. */
interface Codec<T> {
  write(value: T): string;
  read(text: string): T | null;
}

const text: Codec<string> = { write: (value) => value, read: (value) => value };
const flag: Codec<boolean> = { write: (value) => (value ? "1" : "0"), read: (value) => value === "1" };
const list: Codec<readonly string[]> = {
  write: (values) => values.map(encodeURIComponent).join(","),
  read: (value) =>
    value
      .split(",")
      .map(unescaped)
      .filter((entry) => entry !== ""),
};
const whole: Codec<number | null> = {
  write: (value) => (value === null ? "" : String(value)),
  read: (value) => (/^\d{1,9}$/.test(value) ? Number(value) : null),
};
const interval: Codec<Interval | null> = {
  write: (value) => (value === null ? "" : `${Math.floor(value.from)}..${Math.ceil(value.to)}`),
  read: readInterval,
};
const request: Codec<PickedRequest | null> = {
  write: (value) => (value === null ? "" : `${interval.write(value)},${value.thread}`),
  read: (value) => {
    const [time, thread] = [readInterval(value.split(",")[0]), /,(-?\d{1,6})$/.exec(value)];
    return time && thread ? { ...time, thread: Number(thread[1]) } : null;
  },
};
const zoom: Codec<ZoomedFrame | null> = {
  write: (value) => (value === null ? "" : `${"node" in value ? value.node : `~${value.path}`},${value.name}`),
  read: (value) => {
    const match = /^(?:(\d{1,9})|~([0-9a-f]{1,14})),(.*)$/s.exec(value);
    if (!match) return null;
    const [, node, path, name] = match;
    return path === undefined ? { node: Number(node), name } : { path, name };
  },
};
const baseline: Codec<Baseline> = { write: baselineText, read: readBaseline };

function oneOf<T extends string>(...words: readonly T[]): Codec<T> {
  return { write: (value) => value, read: (value) => words.find((word) => word === value) ?? null };
}

/** The short name of each entry in the address. */
const ENTRIES: { [Name in keyof ViewState]: readonly [key: string, codec: Codec<ViewState[Name]>] } = {
  recording: ["r", whole],
  other: ["with", whole],
  window: ["w", interval],
  selection: ["s", interval],
  threads: ["t", text],
  event: ["e", text],
  baseline: ["b", baseline],
  tab: ["v", text],
  cause: ["cause", text],
  search: ["q", text],
  zoom: ["z", zoom],
  inverted: ["inv", flag],
  folded: ["fold", flag],
  frame: ["f", text],
  lanes: ["l", list],
  pins: ["pin", list],
  thin: ["thin", list],
  rows: ["above", list],
  opened: ["open", list],
  kinds: ["k", list],
  find: ["find", text],
  took: ["took", interval],
  port: ["port", text],
  request: ["req", request],
  heat: ["heat", oneOf("samples", "state")],
  pair: ["pair", oneOf("one", "two")],
  zone: ["zone", oneOf("utc", "local")],
};

/** The address of a state, without entries that have their default value. */
export function toHash(state: ViewState): string {
  const parts = new URLSearchParams();
  for (const name of Object.keys(ENTRIES) as (keyof ViewState)[]) {
    const written = writeEntry(name, state);
    if (written !== writeEntry(name, DEFAULTS)) parts.set(ENTRIES[name][0], written);
  }
  return parts.toString();
}

/** The state of an address. */
export function fromHash(hash: string): ViewState {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const name of Object.keys(ENTRIES) as (keyof ViewState)[]) {
    const written = parts.get(ENTRIES[name][0]);
    if (written !== null) readEntry(name, written, state);
  }
  return state;
}

function writeEntry<Name extends keyof ViewState>(name: Name, state: ViewState): string {
  return ENTRIES[name][1].write(state[name]);
}

function readEntry<Name extends keyof ViewState>(name: Name, written: string, state: ViewState): void {
  const value = ENTRIES[name][1].read(written);
  if (value !== null) state[name] = value;
}

function readInterval(written: string): Interval | null {
  const match = /^(-?\d{1,18})\.\.(-?\d{1,18})$/.exec(written);
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  return match && from < to ? { from, to } : null;
}

function readBaseline(written: string): Baseline | null {
  if (written === "baseline") return { kind: "quiet" };
  if (/^recording:\d{1,9}$/.test(written)) return { kind: "recording", id: Number(written.slice("recording:".length)) };
  const range = readInterval(written);
  return range ? { kind: "interval", ...range } : null;
}

function unescaped(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return "";
  }
}

/** The threads of a text such as `compiler,3-5`. */
export function threadsOf(chosen: string, threads: readonly { index: number; role: string }[]): Threads {
  if (chosen === "") return "all";
  const words = chosen.split(",");
  const ranges = words.map((word) => /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(word)).filter((range) => range !== null);
  const isChosen = ({ index, role }: { index: number; role: string }): boolean =>
    words.includes(role) || ranges.some(([, first, last]) => index >= Number(first) && index <= Number(last ?? first));
  return threads.filter(isChosen).map(({ index }) => index);
}
