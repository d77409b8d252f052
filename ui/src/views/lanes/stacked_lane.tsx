// A lane whose instances are parts of a whole.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { shorten } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { valueAt } from "../../charts/counter_lane.ts";
import { css, type Palette, paletteFor, stateColours } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import { drawStack, stack, topOfStack } from "../../charts/stacked_lane.ts";
import type { Lane } from "../../data/overview.ts";
import type { CounterSeries } from "../../data/source.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { overview, plotWidth, pointed, shownWindow } from "../../state/store.ts";
import type { DrawnLane } from "./drawn.ts";
import { heightOf, isFolded, LaneLabel } from "./label.tsx";
import { useSeries } from "./series.ts";

const HEIGHT = 46;

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
        {!isFolded(id) && <Legend lane={lane} series={series} />}
        <Canvas draw={draw} height={heightOf(id, HEIGHT)} label={`${lane.title} over time`} />
      </div>
    </div>
  );
}

/** A state has the same colour as in the lanes of threads, unless an instance is only a part of the state. */
function coloursOf(lane: Lane, palette: Palette): string[] {
  const states = overview.value?.states ?? [];
  const colours = stateColours(states, palette);
  return lane.instances.map((_, index) => {
    const [state, name] = [lane.states?.[index], lane.colors?.[index] ?? ""];
    const place = states.findIndex(({ id, color }) => id === state && color === name);
    const colour = colours[place] ?? palette.states[name] ?? palette.categories[index % palette.categories.length];
    return css(colour, palette, 0, 0.9);
  });
}

/** The largest parts under the pointer, otherwise the top of the lane. */
function Largest({ lane, series }: { lane: Lane; series: readonly CounterSeries[] }): JSX.Element | null {
  const at = pointed.value;
  if (at === null) {
    const tops = stack(series, new TimeScale(shownWindow.value, plotWidth.value), lane.kind === "rate");
    return <span class="faint">{series.length > 0 ? `to ${amount(topOfStack(tops), lane.unit)}` : ""}</span>;
  }
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

/** Only parts that occur, those with the most time first. */
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
            {shorten(name, 60)}
          </li>
        ))}
    </ul>
  );
}
