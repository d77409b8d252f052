// A lane whose instances are parts of one whole.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { shorten } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { valueAt } from "../../charts/counter_lane.ts";
import { css, type Palette, paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import { drawStack, stack } from "../../charts/stacked_lane.ts";
import type { Lane } from "../../data/overview.ts";
import type { CounterSeries } from "../../data/source.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { pointed, shownWindow } from "../../state/store.ts";
import type { DrawnLane } from "./drawn.ts";
import { heightOf, LaneLabel } from "./label.tsx";
import { useSeries } from "./series.ts";

const HEIGHT = 58;

export function StackedLane({ lane, id }: DrawnLane): JSX.Element {
  const { series, error } = useSeries(lane, lane.instances);
  const isRate = lane.kind === "rate";
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const tops = stack(series, new TimeScale(shownWindow.value, wide), isRate);
      drawStack(context, tops, coloursOf(lane, palette), height);
    },
    [series, lane],
  );
  return (
    <div class="lane stacked" data-lane={lane.id} data-key={id}>
      <LaneLabel lane={lane} id={id}>
        {error || <Largest lane={lane} series={series} />}
      </LaneLabel>
      <div class="plot">
        <Canvas draw={draw} height={heightOf(id, HEIGHT)} label={`${lane.title} over time`} />
        <Legend lane={lane} series={series} />
      </div>
    </div>
  );
}

function coloursOf(lane: Lane, palette: Palette): string[] {
  return lane.instances.map((_, index) => {
    const own = palette.states[lane.colors?.[index] ?? ""];
    return css(own ?? palette.categories[index % palette.categories.length], palette, 0, 0.9);
  });
}

/** The largest parts: with their values under the pointer, else of the whole time. */
function Largest({ lane, series }: { lane: Lane; series: readonly CounterSeries[] }): JSX.Element | null {
  const at = pointed.value;
  if (at === null) return <Parts parts={partsOf(lane, series).slice(0, 3)} />;
  const values = series.map((one, index) => ({
    name: lane.instances[index],
    value: valueAt(one, at, lane.kind === "rate") ?? 0,
  }));
  const largest = values.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  return (
    <ul class="parts">
      {largest.slice(0, 3).map(({ name, value }) => (
        <li key={name}>
          {amount(value, lane.unit)} <span class="faint">{shorten(name, 40)}</span>
        </li>
      ))}
    </ul>
  );
}

interface Part {
  name: string;
  colour: string;
}

function Parts({ parts }: { parts: readonly Part[] }): JSX.Element {
  return (
    <ul class="parts">
      {parts.map(({ name, colour }) => (
        <li key={name}>
          <i style={{ background: colour }} /> <span class="faint">{shorten(name, 40)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Only parts that occur; those with the most time first. */
function partsOf(lane: Lane, series: readonly CounterSeries[]): Part[] {
  const palette = paletteFor(isDark.value, safeColours.value);
  const colours = coloursOf(lane, palette);
  return series
    .map((one, index) => ({
      name: lane.instances[index],
      colour: colours[index],
      sum: one.last.reduce((a, b) => a + b, 0),
    }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum);
}

function Legend({ lane, series }: { lane: Lane; series: readonly CounterSeries[] }): JSX.Element {
  return (
    <ul class="legend">
      {partsOf(lane, series)
        .slice(0, 8)
        .map(({ name, colour }) => (
          <li key={name}>
            <i style={{ background: colour }} />
            {shorten(name, 34)}
          </li>
        ))}
    </ul>
  );
}
