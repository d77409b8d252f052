// Which lanes are drawn: `LANE`, or `LANE|INSTANCE` for one instance alone.

import type { Change, Lane } from "../../data/overview.ts";

/** More lines than this in one lane cannot be distinguished. */
export const MOST_LINES = 6;

export interface DrawnLane {
  lane: Lane;
  instances: readonly string[];
  /** `LANE` or `LANE|INSTANCE`. */
  id: string;
}

/** The lanes of some keys, in order, without those that the recording does not have. */
export function drawnLanes(lanes: readonly Lane[], keys: readonly string[]): DrawnLane[] {
  const byId = new Map(lanes.map((lane) => [lane.id, lane]));
  return keys.flatMap((key) => {
    const whole = byId.get(key);
    if (whole) return [{ lane: whole, instances: whole.instances.slice(0, mostOf(whole)), id: key }];
    const cut = key.indexOf("|");
    const [lane, instance] = [byId.get(key.slice(0, cut)), key.slice(cut + 1)];
    return lane?.instances.includes(instance) ? [{ lane, instances: [instance], id: key }] : [];
  });
}

function mostOf(lane: Lane): number {
  return isWhole(lane) ? lane.instances.length : MOST_LINES;
}

/** Whether its lines only make sense together. */
function isWhole({ kind, stacked, parts }: Lane): boolean {
  return kind === "spans" || kind === "latency" || stacked === true || (parts?.length ?? 0) > 0;
}

/** A choice: a lane, or one of its many instances. */
export interface Choice {
  key: string;
  title: string;
  lane: Lane;
  /** The change of the instance that changed most. */
  change: Change | null;
}

/** The choices of a lane: all of it, or one of many instances. */
export function choicesOf(lane: Lane): Choice[] {
  const changes = lane.changes ?? [];
  const whole = { key: lane.id, title: lane.title, lane, change: changes.reduce(larger, null) };
  if (isWhole(lane) || lane.instances.length <= MOST_LINES) return [whole];
  return lane.instances.map((instance, index) => ({
    key: `${lane.id}|${instance}`,
    title: `${lane.title} · ${instance}`,
    lane,
    change: changes[index] ?? null,
  }));
}

function larger(one: Change | null, other: Change | null): Change | null {
  return sizeOf(one) >= sizeOf(other) ? one : other;
}

function sizeOf(change: Change | null): number {
  return change?.size ?? 0;
}

/** The largest change first. Lanes without a change keep their order. */
export function byChange(choices: readonly Choice[]): Choice[] {
  return [...choices].sort((a, b) => sizeOf(b.change) - sizeOf(a.change));
}

/** Smaller changes are not visible in the picture. */
const LEAST_CHANGE = 0.1;

/** The lanes that changed most, only a few. */
export function mostChanged(choices: readonly Choice[], most: number): Choice[] {
  return byChange(choices)
    .filter(({ change }) => sizeOf(change) >= LEAST_CHANGE)
    .slice(0, most);
}
