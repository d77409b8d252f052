// Lanes of counters and spans on the time axis: everything that the recording has.

import type { JSX } from "preact";
import { isOnTop } from "../../state/look.ts";
import { overview, view } from "../../state/store.ts";
import type { View } from "../view.ts";
import { LaneChooser } from "./chooser.tsx";
import { drawnLanes } from "./drawn.ts";
import { LaneView } from "./lane.tsx";

function Lanes(): JSX.Element | null {
  const known = overview.value;
  if (!known) return null;
  const { lanes, pins } = view.value;
  return (
    <div class="lanes">
      {drawnLanes(known.lanes, lanes)
        .filter(({ lane, id }) => !isOnTop(lane) && !pins.includes(id))
        .map((drawn) => (
          <LaneView key={drawn.id} {...drawn} />
        ))}
      <LaneChooser />
    </div>
  );
}

export default { id: "lanes", title: "Lanes", place: "time", order: 30, Component: Lanes } satisfies View;
