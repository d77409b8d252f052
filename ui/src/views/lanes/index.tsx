// Lanes of numbers and of spans on the time axis: the pain first, then what the recording has.

import type { JSX } from "preact";
import type { Lane } from "../../data/overview.ts";
import { overview, view } from "../../state/store.ts";
import type { View } from "../view.ts";
import { LaneChooser } from "./chooser.tsx";
import { CounterLane } from "./counter_lane.tsx";
import { drawnLanes } from "./drawn.ts";
import { SpanLane } from "./span_lane.tsx";

function Lanes(): JSX.Element | null {
  const known = overview.value;
  if (!known) return null;
  return (
    <div class="lanes">
      {drawnLanes(known.lanes, view.value.lanes).map(({ lane, instances, key }) =>
        lane.kind === "spans" ? (
          <SpanLane key={key} lane={lane} />
        ) : (
          <CounterLane key={key} lane={lane} instances={instances} />
        ),
      )}
      <LaneChooser />
    </div>
  );
}

export type { Lane };
export default { id: "lanes", title: "Lanes", place: "time", order: 10, Component: Lanes } satisfies View;
