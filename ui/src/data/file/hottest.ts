// Frames by weight, whoever called them.

import type { HottestFrames } from "../source.ts";
import { hasAbove, type Places, totals, type Weighed } from "./calls.ts";

const MOST_FRAMES = 200;

interface Sums {
  self: Float64Array;
  total: Float64Array;
}

/** The frames with the largest own weight; a recursion counts once in a frame's total. */
export function hottest(tree: Weighed, places: Places, compared: boolean, unit: string): HottestFrames {
  const now = sums(tree, tree.self, places.name.length);
  const before = sums(tree, tree.baseSelf, places.name.length);
  const order = Array.from(places.name.keys()).filter((place) => now.total[place] > 0 || before.total[place] > 0);
  order.sort((a, b) => now.self[b] - now.self[a] || now.total[b] - now.total[a]);
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
