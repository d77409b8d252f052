// Which lanes are drawn. A word of the state turns a lane from its default; `LANE|INSTANCE` asks for one instance alone.

import type { Lane } from "../../data/overview.ts";

/** More lines than this in one lane cannot be told apart. */
export const MOST_LINES = 6;

export interface DrawnLane {
  lane: Lane;
  instances: readonly string[];
  key: string;
}

export function drawnLanes(lanes: readonly Lane[], changed: readonly string[]): DrawnLane[] {
  const drawn: DrawnLane[] = [];
  for (const lane of lanes) {
    if (lane.shown !== changed.includes(lane.id)) {
      const most = lane.stacked ? lane.instances.length : MOST_LINES;
      drawn.push({ lane, instances: lane.instances.slice(0, most), key: lane.id });
    }
    for (const word of changed) {
      const instance = word.startsWith(`${lane.id}|`) ? word.slice(lane.id.length + 1) : null;
      if (instance !== null && lane.instances.includes(instance))
        drawn.push({ lane, instances: [instance], key: word });
    }
  }
  return drawn;
}

/** What stands above the threads: the signals, and the parts of a whole. */
export function isOnTop(lane: Lane): boolean {
  return lane.pain || lane.stacked === true;
}

/** What can be chosen of a lane: all of it, or one of many instances. */
export function choicesOf(lane: Lane): { key: string; title: string }[] {
  const whole = { key: lane.id, title: lane.title };
  if (lane.kind === "spans" || lane.stacked || lane.instances.length <= MOST_LINES) return [whole];
  return lane.instances.map((instance) => ({ key: `${lane.id}|${instance}`, title: `${lane.title} · ${instance}` }));
}
