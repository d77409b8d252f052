// Everything about the page that a link shows a colleague: one record, and its text after the `#`.
//
// A link may come from anywhere: what cannot be read is left at its default.

import type { Interval } from "../base/quantities.ts";
import type { Zone } from "../base/time.ts";
import { baselineText } from "../data/served.ts";
import type { Baseline, Threads } from "../data/source.ts";

export interface ViewState {
  recording: number | null;
  /** The recording beside it, in a comparison. */
  other: number | null;
  /** The time that the lanes show; all of it by default. */
  window: Interval | null;
  /** The time that was picked; the slow time, or all, by default. */
  selection: Interval | null;
  /** Roles and indexes of threads, such as `compiler,3-5`; all by default. */
  threads: string;
  event: string;
  baseline: Baseline;
  tab: string;
  /** The cause that is open. */
  cause: string;
  /** What is looked for in stacks. */
  search: string;
  /** The frame that the flame graph is zoomed to. */
  zoom: ZoomedFrame | null;
  inverted: boolean;
  /** Whether recursion is drawn as one frame. */
  folded: boolean;
  /** The frame whose callers and callees are shown. */
  frame: string;
  /** Lanes in their order, `LANE` or `LANE|INSTANCE`; before anything was decided, none. */
  lanes: readonly string[];
  /** Those of them that stand right below the signals. */
  pins: readonly string[];
  /** Those that are drawn as a strip. */
  thin: readonly string[];
  /** Threads that stand above the others, by index. */
  rows: readonly string[];
  /** Roles whose threads are all shown. */
  opened: readonly string[];
  /** Kinds and words that the table of spans is narrowed to. */
  kinds: readonly string[];
  find: string;
  /** How long the spans in the table took. */
  took: Interval | null;
  /** The port whose requests are drawn; the one that tells slow time by default. */
  port: string;
  /** The request that is looked into. */
  request: PickedRequest | null;
  /** What thread lanes show; the states, if the recording tells them, by default. */
  heat: "" | "samples" | "state";
  /** Whether the quiet time has a flame graph beside that of what is picked; of the first cause it has, by default. */
  pair: "" | "one" | "two";
  zone: Zone;
}

/** A request, or anything else that one thread did from some time on. */
export interface PickedRequest extends Interval {
  /** Index of the thread that answered; -1 when nobody knows. */
  thread: number;
}

/** The frame at the end of a path: a node of the plain flame graph, or what stands for the path where it has none. */
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

/** How one entry is written and read; `null` is for text that says nothing. */
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

/** The short name of each entry in an address. */
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

/** The address of a state, without what is as it is by default. */
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

/** The threads that a text such as `compiler,3-5` means. */
export function threadsOf(chosen: string, threads: readonly { index: number; role: string }[]): Threads {
  if (chosen === "") return "all";
  const words = chosen.split(",");
  const ranges = words.map((word) => /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(word)).filter((range) => range !== null);
  const isChosen = ({ index, role }: { index: number; role: string }): boolean =>
    words.includes(role) || ranges.some(([, first, last]) => index >= Number(first) && index <= Number(last ?? first));
  return threads.filter(isChosen).map(({ index }) => index);
}
