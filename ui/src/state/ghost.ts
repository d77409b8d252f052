// The recording that this one is compared with, on this one's time axis.

import { effect, signal } from "@preact/signals";
import type { Nanoseconds } from "../base/quantities.ts";
import { originOf } from "../base/time.ts";
import type { Overview } from "../data/overview.ts";
import type { Library, Source } from "../data/source.ts";
import { library, overview, view } from "./store.ts";
import { mainStretch } from "./window.ts";

export interface Ghost {
  source: Source;
  overview: Overview;
  /** The offset to add to its times. */
  shift: Nanoseconds;
  /** Whether the slow times are aligned; otherwise the starts of the recordings are. */
  isBySlowTime: boolean;
}

export const ghost = signal<Ghost | null>(null);

/** The start of the slow time, on the recording's own axis. */
function slowFrom({ explanation, origin_ns }: Overview): Nanoseconds | null {
  const origin = originOf(origin_ns) * 1e6;
  const slow = explanation.slow.map(({ from_ns, to_ns }) => ({ from: from_ns - origin, to: to_ns - origin }));
  return mainStretch(slow)?.from ?? null;
}

/** How another recording is aligned with this one: by the starts of the slow times, if both have one. */
export function laidOn(one: Overview, other: Overview): Pick<Ghost, "shift" | "isBySlowTime"> {
  const [here, there] = [slowFrom(one), slowFrom(other)];
  if (here !== null && there !== null) return { shift: here - there, isBySlowTime: true };
  return { shift: one.from - other.from, isBySlowTime: false };
}

/** Loads the ghost whenever the compared recording changes. */
export function followOther(): void {
  effect(() => {
    const [known, recordings, other] = [overview.value, library.value, view.value.other];
    if (!known || !recordings || other === null) ghost.value = null;
    else void load(known, recordings, other);
  });
}

async function load(known: Overview, recordings: Library, other: number): Promise<void> {
  const source = recordings.open(other);
  // Without an answer nothing is drawn. The comparison shows the reason.
  const found = await source.overview().catch(() => null);
  if (overview.peek() !== known || view.peek().other !== other) return;
  ghost.value = found && { source, overview: found, ...laidOn(known, found) };
}
