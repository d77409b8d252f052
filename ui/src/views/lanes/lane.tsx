// One lane, by what kind it is.

import type { JSX } from "preact";
import type { Lane } from "../../data/overview.ts";
import { CounterLane } from "./counter_lane.tsx";
import { LatencyLane } from "./latency_lane.tsx";
import { SpanLane } from "./span_lane.tsx";
import { StackedLane } from "./stacked_lane.tsx";

export function LaneView({ lane, instances }: { lane: Lane; instances: readonly string[] }): JSX.Element {
  if (lane.kind === "latency") return <LatencyLane lane={lane} />;
  if (lane.kind === "spans") return <SpanLane lane={lane} />;
  return lane.stacked ? <StackedLane lane={lane} /> : <CounterLane lane={lane} instances={instances} />;
}
