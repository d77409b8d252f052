// The highlighted stacks (searched, zoomed or in the sandwich view) on the time axis: when they occurred, and their part of the total.

import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { share } from "../../base/numbers.ts";
import { clean, shorten } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { drawFound, type FoundPicture, sumOf } from "../../charts/found_lane.ts";
import { paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { Matching } from "../../data/source.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { event, meant, pointed, shownWindow, update } from "../../state/store.ts";
import { Button } from "../../widgets/controls.tsx";
import { useRoleHeat } from "../threads/use_heat.ts";
import type { View } from "../view.ts";

const HEIGHT = 36;
const COLUMNS = 400;

function Found(): JSX.Element | null {
  return meant.value ? <Lane matching={meant.value} /> : null;
}

function Lane({ matching }: { matching: Matching }): JSX.Element {
  const found = useRoleHeat({ columns: COLUMNS, by: "samples", matching });
  const all = useRoleHeat({ columns: COLUMNS, by: "samples" });
  const picture = useMemo<FoundPicture | null>(
    () => found && all && { time: all, found: sumOf(found.heat), all: sumOf(all.heat) },
    [found, all],
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      if (picture) drawFound(context, picture, new TimeScale(shownWindow.value, wide), height, palette);
    },
    [picture],
  );
  const title = titleOf(matching);
  return (
    <div class="lane found" data-lane="found">
      <div class="lane-label" title={clean(title, 600)}>
        <div class="lane-title">
          <span class="found-title">{shorten(title, 60)}</span>
        </div>
        <div class="lane-value">
          {picture && <Value picture={picture} />}
          <Button kind="link" onClick={clear}>
            clear
          </Button>
        </div>
      </div>
      <div class="plot">
        <Canvas draw={draw} height={HEIGHT} label={`${clean(title, 200)} over time`} />
      </div>
    </div>
  );
}

function titleOf(matching: Matching): string {
  if ("find" in matching) return `“${matching.find}” in stacks`;
  return "frame" in matching ? `${matching.frame} in stacks` : `below ${matching.name}`;
}

function clear(): void {
  if (meant.peek() && "frame" in (meant.peek() as Matching)) update({ frame: "" });
  else update({ zoom: null, search: "" });
}

/** Their part of the total under the pointer, or of the visible time. */
function Value({ picture: { time, found, all } }: { picture: FoundPicture }): JSX.Element {
  const column = (at: number): number => Math.floor(((at - time.from) / (time.to - time.from)) * all.length);
  const at = pointed.value;
  const { from, to } = shownWindow.value;
  const [first, end] = at === null ? [column(from), column(to) + 1] : [column(at), column(at) + 1];
  const sum = (values: Float64Array): number =>
    values.subarray(Math.max(first, 0), end).reduce((all, one) => all + one, 0);
  const whole = sum(all);
  return (
    <span>
      {whole > 0 ? share(sum(found) / whole) : "–"} <span class="faint">of {event.value?.title ?? ""}</span>
    </span>
  );
}

export default {
  id: "found",
  title: "Stacks that are looked for",
  place: "time",
  order: 15,
  isUseful: ({ events }) => events.length > 0,
  Component: Found,
} satisfies View;
