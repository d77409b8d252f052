// Frames by weight, regardless of their callers.

import type { FramesQuery, HottestFrames } from "../source.ts";
import { hasAbove, type Places, totals, type Weighed } from "./calls.ts";

const MOST_FRAMES = 200;

interface Sums {
  self: Float64Array;
  total: Float64Array;
}

/** The top frames. A recursion counts once in a frame's total. */
export function hottest(
  tree: Weighed,
  places: Places,
  { compared, sort }: Pick<FramesQuery, "sort"> & { compared: boolean },
  unit: string,
): HottestFrames {
  const now = sums(tree, tree.self, places.name.length);
  const before = sums(tree, tree.baseSelf, places.name.length);
  const order = Array.from(places.name.keys()).filter((place) => now.total[place] > 0 || before.total[place] > 0);
  // Frames that disappeared also come first: they are part of the difference.
  const worth: Record<FramesQuery["sort"], (place: number) => number> = {
    self: (place) => Math.max(now.self[place], before.self[place]),
    total: (place) => Math.max(now.total[place], before.total[place]),
    growth: (place) => Math.abs(now.self[place] - before.self[place]),
  };
  order.sort((a, b) => worth[sort](b) - worth[sort](a) || now.total[b] - now.total[a]);
  const frames = order.slice(0, MOST_FRAMES).map((place) => ({
    name: places.name[place],
    kind: places.kind[place],
    module: places.module[place],
    self: now.self[place],
    total: now.total[place],
    baseSelf: compared ? before.self[place] : Number.NaN,
    baseTotal: compared ? before.total[place] : Number.NaN,
  }));
  return { frames, total: tree.self.reduce((sum, weight) => sum + weight, 0), unit };
}

function sums({ calls }: Weighed, weights: Float64Array, places: number): Sums {
  const [self, total] = [new Float64Array(places), new Float64Array(places)];
  const whole = totals(calls, weights);
  for (let node = 0; node < weights.length; node += 1) {
    if (whole[node] === 0) continue;
    const place = calls.place[node];
    self[place] += weights[node];
    if (!hasAbove(calls, node, (above) => above === place)) total[place] += whole[node];
  }
  return { self, total };
}
