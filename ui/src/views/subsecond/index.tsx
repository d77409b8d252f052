// The sub-second heat map: a column is a second, a row is a fraction of it. Dragging picks a time.

import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { duration, eventAmount } from "../../base/numbers.ts";
import { decimalsFor, timeOfDay } from "../../base/time.ts";
import { Canvas, font } from "../../charts/canvas.tsx";
import { paletteFor } from "../../charts/palette.ts";
import { colourOf, drawSubsecond, gridOf, labelledSeconds, SCALE, timeAt } from "../../charts/subsecond_draw.ts";
import type { SubsecondHeat } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { event, limits, origin, pick, selection, source, zone } from "../../state/store.ts";
import { Note, Tip } from "../../widgets/controls.tsx";
import type { View } from "../view.ts";

/** 20 ms each, the usual resolution of samplers. */
const ROWS = 50;
const HEIGHT = 300;
/** Space for the times below. */
const AXIS = 16;

function Subsecond(): JSX.Element {
  const from = source.value;
  const query = { ...selection.value, ...limits.value, rows: ROWS };
  const answer = useAnswer(from && query.event !== "" ? JSON.stringify(query) : null, (signal) =>
    from ? from.subsecond(query, signal) : Promise.reject(new Error("no recording")),
  );
  return (
    <div class="subsecond-view">
      <p class="muted">
        {event.value?.title ?? "no samples"}: each column is a second, from its first {duration(1e9 / ROWS)} on top to
        its last at the bottom. Drag picks a time.
      </p>
      {answer.error && <Note>{answer.error}</Note>}
      {answer.value && answer.value.weight.length > 0 && <Scale heat={answer.value} />}
      {answer.value && answer.value.weight.length > 0 && <HeatMap heat={answer.value} />}
      {answer.value && answer.value.weight.length === 0 && <Note>No samples of these threads.</Note>}
    </div>
  );
}

/** The legend: how much of the event each colour of a cell means. */
function Scale({ heat }: { heat: SubsecondHeat }): JSX.Element {
  const palette = paletteFor(isDark.value, safeColours.value);
  const unit = event.value?.unit ?? "samples";
  const cell = duration(1e9 / heat.rows);
  // Samples are whole numbers.
  const parts = SCALE.filter((part) => unit !== "samples" || part * heat.full >= 1);
  return (
    <ul class="legend scale" aria-label={`What a cell of ${cell} has`}>
      {parts.map((part) => (
        <li key={part}>
          <i style={{ background: colourOf(part, palette) }} />
          {eventAmount(part * heat.full, unit)}
          {part === 1 && " or more"}
        </li>
      ))}
      <li>in {cell}</li>
    </ul>
  );
}

function HeatMap({ heat }: { heat: SubsecondHeat }): JSX.Element {
  const [pointed, point] = useState<{ at: number; x: number; y: number } | null>(null);
  const start = useRef<number | null>(null);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      const [grid, palette] = [gridOf(heat, width), paletteFor(isDark.value, safeColours.value)];
      drawSubsecond(context, heat, grid, height - AXIS, palette);
      context.font = font(10.5);
      context.fillStyle = palette.muted;
      for (const second of labelledSeconds(grid, 58)) {
        const at = heat.first + (grid.first + second) * 1e9;
        context.fillText(timeOfDay(origin.value, at, zone.value), second * grid.cell, height - 3);
      }
    },
    [heat],
  );
  const timeUnder = (now: PointerEvent): number => {
    const box = (now.currentTarget as HTMLElement).getBoundingClientRect();
    return timeAt(heat, gridOf(heat, box.width), now.clientX - box.left, now.clientY - box.top, HEIGHT - AXIS);
  };
  const drag = (now: PointerEvent): void => {
    const at = timeUnder(now);
    point({ at, x: now.clientX, y: now.clientY });
    if (start.current === null) return;
    const { from, to } = limits.peek();
    const [first, last] = [Math.min(start.current, at), Math.max(start.current, at) + 1e9 / heat.rows];
    pick({ from: Math.max(first, from), to: Math.min(last, to) });
  };
  return (
    <>
      <Canvas
        class="canvas pick"
        draw={draw}
        height={HEIGHT}
        label="Sub-second heat map"
        onPointerDown={(now: PointerEvent) => {
          start.current = timeUnder(now);
          (now.currentTarget as HTMLElement).setPointerCapture(now.pointerId);
          drag(now);
        }}
        onPointerMove={drag}
        onPointerUp={() => {
          start.current = null;
        }}
        onPointerLeave={() => point(null)}
      />
      {pointed && (
        <Tip x={pointed.x} y={pointed.y}>
          {timeOfDay(origin.value, pointed.at, zone.value, decimalsFor(1e9 / heat.rows))}
        </Tip>
      )}
    </>
  );
}

export default {
  id: "subsecond",
  title: "Sub-second",
  place: "detail",
  order: 30,
  isUseful: ({ events }) => events.length > 0,
  Component: Subsecond,
} satisfies View;
