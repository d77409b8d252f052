// The runs as a picture for pointer, keyboard and clicks.

import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { amount, duration } from "../../base/numbers.ts";
import type { CssPixels } from "../../base/quantities.ts";
import { clean } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { paletteFor } from "../../charts/palette.ts";
import {
  drawRuns,
  heightOf,
  type Measured,
  measuredOf,
  type Part,
  partColour,
  partsOf,
  runAt,
  slotOf,
} from "../../charts/runs.ts";
import type { Runs } from "../../data/runs.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { openRecording } from "../../state/store.ts";
import { Tip } from "../../widgets/controls.tsx";
import { figuresOf, haveRequests, lostOf, lostPer, runText } from "./figures.ts";

interface Properties {
  series: Runs;
  /** The run under the pointer, here or in the table. */
  marked: number | null;
  onMark: (run: number | null) => void;
}

/** Where the tip of a run is. */
interface Place {
  run: number;
  x: CssPixels;
  y: CssPixels;
}

export function Chart({ series, marked, onMark }: Properties): JSX.Element {
  const { runs, lost, marks, changes, recordings } = series;
  const [place, put] = useState<Place | null>(null);
  const [measures, parts] = useMemo(() => [measuredOf(runs), partsOf(lost)] as const, [runs, lost]);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: CssPixels) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const changed = marks.map(({ at }, index) => ({ at, by: changes[index].by }));
      drawRuns(context, { count: runs.length, measures, parts, changes: changed, marked }, width, palette, amount);
    },
    [runs, measures, parts, marks, changes, marked],
  );
  const point = (to: Place | null): void => {
    onMark(to?.run ?? null);
    put(to);
  };
  const walk = (event: KeyboardEvent): void => {
    const next = stepped(marked, event.key, runs.length);
    if (next === undefined) return;
    event.preventDefault();
    point(next === null ? null : besideRun(event.currentTarget as HTMLElement, next, runs.length));
  };
  return (
    <section aria-label="Chart of the runs">
      <Legend measures={measures} parts={parts} per={lostPer(runs)} />
      <Canvas
        draw={draw}
        height={heightOf({ parts })}
        label={labelOf(series, marked)}
        tabIndex={0}
        onPointerMove={(event: PointerEvent) => {
          const run = runUnder(event, runs.length);
          point(run === null ? null : { run, x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => point(null)}
        onBlur={() => point(null)}
        onClick={(event: MouseEvent) => open(recordings, runUnder(event, runs.length))}
        onKeyDown={(event: KeyboardEvent) => (event.key === "Enter" ? open(recordings, marked) : walk(event))}
      />
      {place && place.run === marked && <RunTip series={series} {...place} />}
    </section>
  );
}

function open(recordings: readonly number[], run: number | null): void {
  if (run !== null) openRecording(recordings[run]);
}

function runUnder(event: MouseEvent, count: number): number | null {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return runAt(event.clientX - box.left, count, box.width);
}

/** The run that a key leads to; none for other keys. */
function stepped(run: number | null, key: string, count: number): number | null | undefined {
  if (key === "ArrowRight") return Math.min((run ?? -1) + 1, count - 1);
  if (key === "ArrowLeft") return Math.max((run ?? count) - 1, 0);
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return key === "Escape" ? null : undefined;
}

/** The position of the tip of a run that was not chosen with the pointer. */
function besideRun(canvas: HTMLElement, run: number, count: number): Place {
  const box = canvas.getBoundingClientRect();
  return { run, x: box.left + slotOf(run, count, box.width).to, y: box.top };
}

function labelOf(series: Runs, run: number | null): string {
  const shown = run === null ? `${series.runs.length} runs` : clean(runText(series, run), 400);
  return `Runs over time; ${shown}. Arrow keys walk, Enter opens a run`;
}

function Legend(properties: { measures: readonly Measured[]; parts: readonly Part[]; per: string }): JSX.Element {
  const { measures, parts, per } = properties;
  const palette = paletteFor(isDark.value, safeColours.value);
  return (
    <ul class="legend">
      {measures.map(({ title }, index) => (
        <li key={title}>
          <i class={index > 0 ? "line dashed" : "line"} /> {title}
        </li>
      ))}
      {parts.length > 0 && <li>below: lost time per {per}</li>}
      {parts.map((part) => (
        <li key={part.title}>
          <i style={{ background: partColour(part, palette) }} />
          {clean(part.title, 60)}
        </li>
      ))}
    </ul>
  );
}

function RunTip({ series, run, x, y }: Place & { series: Runs }): JSX.Element {
  const { runs, marks, changes } = series;
  const change = changes[marks.findIndex(({ at }) => at === run)];
  const lost = lostOf(series, run);
  return (
    <Tip x={x} y={y}>
      <strong>
        {run + 1} · {clean(runs[run].name, 120)}
      </strong>
      {change && <div class="changed">changed here: {clean(change.by)}</div>}
      {figuresOf(runs[run], haveRequests(runs)).map(([title, text]) => (
        <div key={title}>
          {title} {text}
        </div>
      ))}
      {lost.length > 0 && <div class="faint">lost per {lostPer([runs[run]])}</div>}
      {lost.map(({ id, name, ns }) => (
        <div key={id}>
          {clean(name, 60)} {duration(ns)}
        </div>
      ))}
    </Tip>
  );
}
