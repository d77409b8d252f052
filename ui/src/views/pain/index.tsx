// On top of all lanes: the signals in which the slow time was found, and what all threads together did.

import type { JSX } from "preact";
import { overview, view } from "../../state/store.ts";
import { drawnLanes, isOnTop } from "../lanes/drawn.ts";
import { LaneView } from "../lanes/lane.tsx";
import type { View } from "../view.ts";

function Pain(): JSX.Element {
  return (
    <>
      {drawnLanes(overview.value?.lanes ?? [], view.value.lanes)
        .filter(({ lane }) => isOnTop(lane))
        .map(({ key, ...drawn }) => (
          <LaneView key={key} {...drawn} />
        ))}
    </>
  );
}

export default { id: "pain", title: "Signals", place: "time", order: 10, Component: Pain } satisfies View;
