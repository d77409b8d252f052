// The events for flame graphs, as a list to choose from.

import { grouped } from "../base/text.ts";
import type { SampleEvent } from "../data/overview.ts";

export interface EventGroup {
  title: string;
  /** The id and the text of each. */
  choices: (readonly [string, string])[];
}

/** Where threads were when an event's rows were recorded, in the order of the list. */
const GROUPS = ["running, or seen so", "waiting, as the account has it", "spans"] as const;

/** Those groups that have events. */
export function eventGroups(events: readonly SampleEvent[]): EventGroup[] {
  const groups = GROUPS.map((title) => ({
    title,
    choices: events.filter((one) => groupOf(one) === title).map(choiceOf),
  }));
  return groups.filter(({ choices }) => choices.length > 0);
}

function groupOf({ id }: SampleEvent): (typeof GROUPS)[number] {
  if (id.startsWith("waits/")) return GROUPS[1];
  return id.startsWith("spans/") ? GROUPS[2] : GROUPS[0];
}

function choiceOf({ id, title, on_cpu, samples }: SampleEvent): readonly [string, string] {
  // Events that are not on-CPU are not always off-CPU: allocations are neither. Samples of CPU say so themselves.
  const isOnCpu = on_cpu && !id.includes("/") && title !== "CPU";
  return [id, `${title} (${isOnCpu ? "on CPU, " : ""}${grouped(samples)})`];
}
