// Next to the ruler: the choice of the time zone, and buttons for the window as an alternative to wheel and keys.

import type { JSX } from "preact";
import { zoneName } from "../base/time.ts";
import { limits, lookAt, origin, picked, shownWindow, update, zone } from "../state/store.ts";
import { zoomed } from "../state/window.ts";
import { Button } from "../widgets/controls.tsx";
import { zoomToPicked } from "./gestures.ts";

export function TimeControls(): JSX.Element {
  const middle = (shownWindow.value.from + shownWindow.value.to) / 2;
  const zoom = (factor: number) => () => lookAt(zoomed(shownWindow.peek(), middle, factor, limits.peek()));
  return (
    <div class="lane-label time-controls">
      <Button kind="quiet" onClick={zoom(0.5)} title="closer (w)">
        <span aria-hidden="true">+</span>
        <span class="hidden">closer</span>
      </Button>
      <Button kind="quiet" onClick={zoom(2)} title="farther (s)">
        <span aria-hidden="true">−</span>
        <span class="hidden">farther</span>
      </Button>
      <Button kind="quiet" onClick={zoomToPicked} title="zoom to the picked time (z)" disabled={picked.value === null}>
        fit
      </Button>
      <Button kind="quiet" onClick={() => lookAt(null)} title="the whole recording (0)">
        all
      </Button>
      <Button
        kind="quiet"
        title="UTC or local time"
        onClick={() => update({ zone: zone.peek() === "utc" ? "local" : "utc" })}
      >
        {zoneName(origin.value, zone.value)}
        {zone.value === "local" ? " (local)" : ""}
      </Button>
    </div>
  );
}
