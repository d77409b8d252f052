// Lines that belong together: a level below its limit, what was lost there, and what happened meanwhile.

import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { shorten } from "../../base/text.ts";
import { Canvas, font } from "../../charts/canvas.tsx";
import { valueAt } from "../../charts/counter_lane.ts";
import {
  drawFigure,
  type FigurePicture,
  levelColour,
  limitOf,
  type Marks,
  markColour,
  marksNear,
} from "../../charts/figure_lane.ts";
import { paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { FigurePart, Lane } from "../../data/overview.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { askedWindow, kindTitle, plotWidth, pointed, shownWindow, source } from "../../state/store.ts";
import type { DrawnLane } from "./drawn.ts";
import { heightOf, isFolded, LaneLabel } from "./label.tsx";
import { useSeries } from "./series.ts";

const HEIGHT = 58;
const NONE: readonly FigurePart[] = [];
/** Marks within this distance of the pointer are described, in pixels. */
const NEAR = 4;

export function FigureLane({ lane, id }: DrawnLane): JSX.Element {
  const { series, error } = useSeries(lane, lane.instances);
  const marks = useMarks(lane);
  const picture: FigurePicture = { series, parts: lane.parts ?? NONE, marks };
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      context.font = font(10);
      const how = { isOneWhole: lane.kind !== "sawtooth", label: (value: number) => amount(value, lane.unit) };
      drawFigure(context, picture, new TimeScale(shownWindow.value, wide), height, palette, how);
    },
    [series, marks, lane],
  );
  return (
    <div class="lane figure" data-lane={lane.id} data-key={id}>
      <LaneLabel lane={lane} id={id}>
        {error || <Values lane={lane} picture={picture} />}
      </LaneLabel>
      <div class="plot">
        {!isFolded(id) && <Legend lane={lane} />}
        <Canvas draw={draw} height={heightOf(id, HEIGHT)} label={`${lane.title} over time`} />
      </div>
    </div>
  );
}

/** When the marked things happened. */
function useMarks(lane: Lane): Marks {
  const from = source.value;
  const kinds = lane.kinds ?? [];
  const query = { ...askedWindow.value, kinds, width: Math.ceil(plotWidth.value), threads: "all" } as const;
  const { value } = useAnswer(
    from && kinds.length > 0 ? JSON.stringify(query) : null,
    (signal) => from?.spans(query, signal) ?? Promise.reject(new Error("no recording")),
    60,
  );
  return useMemo(() => {
    if (!value) return NO_MARKS;
    const order = [...value.t.keys()].sort((a, b) => value.t[a] - value.t[b]);
    const t = Float64Array.from(order, (row) => value.t[row]);
    const kind = Uint8Array.from(order, (row) => Math.max(kinds.indexOf(value.kind[row]), 0));
    return { t, kind, kinds: kinds.length };
  }, [value, lane]);
}

const NO_MARKS: Marks = { t: new Float64Array(), kind: new Uint8Array(), kinds: 0 };

/** The values under the pointer, otherwise the limit. */
function Values({ lane, picture }: { lane: Lane; picture: FigurePicture }): JSX.Element {
  const at = pointed.value;
  const scale = new TimeScale(shownWindow.value, plotWidth.value);
  if (at === null) {
    const limit = lane.kind === "sawtooth" ? 0 : limitOf(picture, scale);
    return <span class="faint">{limit > 0 ? `of ${amount(limit, lane.unit)}` : ""}</span>;
  }
  const told = picture.series.flatMap((one, index) => {
    const value = picture.parts[index] === "limit" ? null : valueAt(one, at, false);
    const unit = picture.parts[index] === "drops" ? "1/s" : lane.unit;
    return value === null || (value === 0 && index > 0)
      ? []
      : [{ name: lane.instances[index], text: amount(value, unit) }];
  });
  const marked = marksNear(picture.marks, at, NEAR * scale.perPixel);
  return (
    <ul class="parts">
      {told.slice(0, 4).map(({ name, text }) => (
        <li key={name}>
          {text} <span class="faint">{shorten(name, 30)}</span>
        </li>
      ))}
      {marked.length > 0 && <li class="p99">{marked.map((kind) => kindTitle(lane.kinds?.[kind] ?? "")).join(", ")}</li>}
    </ul>
  );
}

/** The stacked levels, and the marks. */
function Legend({ lane }: { lane: Lane }): JSX.Element | null {
  const palette = paletteFor(isDark.value, safeColours.value);
  const levels = lane.instances.filter((_, index) => ["level", "stage"].includes(lane.parts?.[index] ?? ""));
  const marks = lane.kinds ?? [];
  if (levels.length < 2 && marks.length === 0) return null;
  return (
    <ul class="legend">
      {levels.length > 1 &&
        levels.map((name, index) => (
          <li key={name}>
            <i style={{ background: levelColour(index, levels.length, palette) }} />
            {shorten(name, 34)}
          </li>
        ))}
      {marks.map((kind, index) => (
        <li key={kind}>
          <i style={{ background: markColour(index, marks.length, palette) }} />
          {kindTitle(kind)}
        </li>
      ))}
    </ul>
  );
}
