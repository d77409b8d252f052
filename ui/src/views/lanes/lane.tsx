// One lane, by its kind.

import type { JSX } from "preact";
import { CounterLane } from "./counter_lane.tsx";
import type { DrawnLane } from "./drawn.ts";
import { FigureLane } from "./figure_lane.tsx";
import { LatencyLane } from "./latency_lane.tsx";
import { SpanLane } from "./span_lane.tsx";
import { StackedLane } from "./stacked_lane.tsx";

export function LaneView(drawn: DrawnLane): JSX.Element {
  const { lane } = drawn;
  if (lane.kind === "latency") return <LatencyLane {...drawn} />;
  if (lane.kind === "spans") return <SpanLane {...drawn} />;
  if ((lane.parts?.length ?? 0) > 0) return <FigureLane {...drawn} />;
  return lane.stacked ? <StackedLane {...drawn} /> : <CounterLane {...drawn} />;
}
