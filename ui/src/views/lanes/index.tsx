// Lanes of numbers and of spans on the time axis: everything that the recording has.

import type { JSX } from "preact";
import { overview, view } from "../../state/store.ts";
import type { View } from "../view.ts";
import { LaneChooser } from "./chooser.tsx";
import { drawnLanes, isOnTop } from "./drawn.ts";
import { LaneView } from "./lane.tsx";

function Lanes(): JSX.Element | null {
  const known = overview.value;
  if (!known) return null;
  return (
    <div class="lanes">
      {drawnLanes(known.lanes, view.value.lanes)
        .filter(({ lane }) => !isOnTop(lane))
        .map(({ key, ...drawn }) => (
          <LaneView key={key} {...drawn} />
        ))}
      <LaneChooser />
    </div>
  );
}

export default { id: "lanes", title: "Lanes", place: "time", order: 30, Component: Lanes } satisfies View;
