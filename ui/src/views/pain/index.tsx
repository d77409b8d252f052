// On top of all lanes: the signals in which the slow time was found, the lanes that show the open cause, and what all threads
// did together.

import type { JSX } from "preact";
import { isOnTop } from "../../state/look.ts";
import { overview, view } from "../../state/store.ts";
import { drawnLanes } from "../lanes/drawn.ts";
import { LaneView } from "../lanes/lane.tsx";
import type { View } from "../view.ts";

function Pain(): JSX.Element {
  const { lanes, pins } = view.value;
  const known = overview.value?.lanes ?? [];
  const onTop = drawnLanes(known, lanes).filter(({ lane, id }) => isOnTop(lane) && !pins.includes(id));
  const signals = onTop.filter(({ lane }) => lane.pain);
  const others = onTop.filter(({ lane }) => !lane.pain);
  return (
    <>
      {[...signals, ...drawnLanes(known, pins), ...others].map((drawn) => (
        <LaneView key={drawn.id} {...drawn} />
      ))}
    </>
  );
}

export default { id: "pain", title: "Signals", place: "time", order: 10, Component: Pain } satisfies View;
