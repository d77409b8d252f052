// One number, or a few of the same kind, over time.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { shorten } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { drawCounters, topOf, valueAt } from "../../charts/counter_lane.ts";
import { css, paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { Lane } from "../../data/overview.ts";
import type { CounterSeries } from "../../data/source.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { plotWidth, pointed, shownWindow } from "../../state/store.ts";
import type { DrawnLane } from "./drawn.ts";
import { useGhostSeries } from "./ghosts.ts";
import { heightOf, isFolded, LaneLabel } from "./label.tsx";
import { useSeries } from "./series.ts";

const HEIGHT = 36;

export function CounterLane({ lane, instances, id }: DrawnLane): JSX.Element {
  const { series, error } = useSeries(lane, instances);
  const ghosts = useGhostSeries(lane, instances);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) => {
      const picture = {
        series,
        isRate: lane.kind === "rate",
        pain: lane.pain,
        threshold: lane.threshold ?? null,
        ghosts,
      };
      const palette = paletteFor(isDark.value, safeColours.value);
      drawCounters(context, picture, new TimeScale(shownWindow.value, wide), height, palette);
    },
    [series, ghosts, lane],
  );
  return (
    <div class={`lane ${lane.pain ? "pain" : ""}`} data-lane={lane.id} data-key={id}>
      <LaneLabel lane={lane} id={id}>
        {error || <Values lane={lane} instances={instances} series={series} />}
      </LaneLabel>
      <div class="plot">
        {instances.length > 1 && !isFolded(id) && <Legend instances={instances} of={lane.instances.length} />}
        <Canvas draw={draw} height={heightOf(id, HEIGHT)} label={`${lane.title} over time`} />
      </div>
    </div>
  );
}

/** The value under the pointer, otherwise the top of the lane. */
function Values(properties: {
  lane: Lane;
  instances: readonly string[];
  series: readonly CounterSeries[];
}): JSX.Element {
  const { lane, instances, series } = properties;
  const at = pointed.value;
  if (at === null) {
    const picture = { series, isRate: lane.kind === "rate", pain: false, threshold: lane.threshold ?? null };
    const top = topOf(picture, new TimeScale(shownWindow.value, plotWidth.value));
    return <span class="faint">{series.length > 0 ? `to ${amount(top, lane.unit)}` : ""}</span>;
  }
  const values = series.map((one) => valueAt(one, at, lane.kind === "rate"));
  if (instances.length === 1)
    return <span>{values[0] === null || values[0] === undefined ? "–" : amount(values[0], lane.unit)}</span>;
  return (
    <span class="many">
      {values.map((value, index) => (
        <span key={instances[index]}>{value === null ? "–" : amount(value, lane.unit)}</span>
      ))}
    </span>
  );
}

function Legend({ instances, of }: { instances: readonly string[]; of: number }): JSX.Element {
  const palette = paletteFor(isDark.value, safeColours.value);
  return (
    <ul class="legend">
      {instances.map((instance, index) => (
        <li key={instance}>
          <i style={{ background: css(palette.categories[index % palette.categories.length], palette) }} />
          {shorten(instance || "all", 24)}
        </li>
      ))}
      {of > instances.length && <li class="faint">{of - instances.length} more below</li>}
    </ul>
  );
}
