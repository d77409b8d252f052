// Spans over time: one row per kind, the names in colours.

import type { JSX } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { duration } from "../../base/numbers.ts";
import { type CssPixels, sameInterval } from "../../base/quantities.ts";
import { counted, grouped, shorten } from "../../base/text.ts";
import { decimalsFor, timeOfDay } from "../../base/time.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { css, paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import {
  colourOf,
  drawSpans,
  longestOf,
  markAt,
  namesByTime,
  rowsOf,
  type SpanPicture,
} from "../../charts/span_lane.ts";
import type { Lane } from "../../data/overview.ts";
import type { SpanMarks } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import {
  askedWindow,
  kindTitle,
  limits,
  origin,
  overview,
  plotWidth,
  shownWindow,
  source,
  update,
  zone,
} from "../../state/store.ts";
import { Tip } from "../../widgets/controls.tsx";
import type { DrawnLane } from "./drawn.ts";
import { heightOf, LaneLabel } from "./label.tsx";

const ROW = 15;
const LEAST = 24;

export function SpanLane({ lane, id }: DrawnLane): JSX.Element {
  const picture = usePicture(lane);
  const height = heightOf(id, Math.max((picture?.kinds.length ?? 1) * ROW, LEAST));
  const [hovered, hover] = useState<{ mark: number; x: number; y: number } | null>(null);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, high: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const scale = new TimeScale(shownWindow.value, wide);
      if (picture) drawSpans(context, picture, scale, high, palette);
    },
    [picture],
  );
  const onMove = (event: PointerEvent): void => {
    const mark = markUnder(event, picture);
    hover(mark < 0 ? null : { mark, x: event.clientX, y: event.clientY });
  };
  return (
    <div class="lane spans" data-lane={lane.id} data-key={id}>
      <LaneLabel lane={lane} id={id}>
        <LeftOutNote lane={lane} />
        {picture && picture.kinds.length > 1 && <span class="faint">{picture.kinds.map(kindTitle).join(" · ")}</span>}
      </LaneLabel>
      <div
        class="plot"
        onPointerMove={onMove}
        onPointerLeave={() => hover(null)}
        onPointerDown={(event) => picture && select(event, picture.marks, markUnder(event, picture))}
      >
        <Canvas draw={draw} height={height} label={`${lane.title} over time`} />
      </div>
      {picture && hovered && <MarkTip picture={picture} {...hovered} />}
    </div>
  );
}

/** The mark under the pointer, or -1. */
function markUnder(event: PointerEvent, picture: SpanPicture | null): number {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const scale = new TimeScale(shownWindow.peek(), box.width);
  return picture ? markAt(picture, scale, event.clientX - box.left, event.clientY - box.top, box.height) : -1;
}

/** Spans that a file left out are drawn as counts. */
function LeftOutNote({ lane: { held, total } }: { lane: Lane }): JSX.Element | null {
  if (held === undefined || total === undefined || held >= total) return null;
  const says = "the longest are drawn one by one, the others as how many there were";
  return (
    <span class="faint" title={says}>
      {grouped(held)} of {grouped(total)}
    </span>
  );
}

/** A smaller movement is not a drag. */
const NEAR: CssPixels = 4;

/** A click on a bar picks its time and lists its spans. */
function select(event: PointerEvent, { t, duration: lengths, kind }: SpanMarks, mark: number): void {
  if (mark < 0 || event.button !== 0 || event.shiftKey) return;
  const end = (now: PointerEvent): void => {
    if (Math.abs(now.clientX - event.clientX) >= NEAR) return;
    const [from, to] = [Math.floor(t[mark]), Math.ceil(t[mark] + lengths[mark])];
    const selection = { from, to: Math.max(to, from + 1) };
    update({ selection, tab: "spans", kinds: [kind[mark]], find: "", took: null });
  };
  window.addEventListener("pointerup", end, { once: true });
}

function usePicture(lane: Lane): SpanPicture | null {
  const from = source.value;
  const window = askedWindow.value;
  const width = Math.ceil(plotWidth.value * 2);
  const kinds = lane.kinds ?? [];
  const ask = (time: { from: number; to: number }) => (signal: AbortSignal) =>
    from ? from.spans({ ...time, kinds, width, threads: "all" }, signal) : Promise.reject(new Error("no recording"));
  // Rows and colours do not change while the window moves: they come from the whole recording.
  const whole = useAnswer(from ? JSON.stringify([lane.id, limits.value, width]) : null, ask(limits.value));
  const isWhole = sameInterval(window, limits.value);
  const question = from && !isWhole ? JSON.stringify([lane.id, window, width]) : null;
  const part = useAnswer(question, ask(window), 60);
  const newest = useRef<SpanMarks | null>(null);
  if (isWhole) newest.current = whole.value;
  else if (part.answers === question) newest.current = part.value;
  const marks = newest.current ?? whole.value;
  return useMemo(() => {
    if (!marks || !whole.value) return null;
    const names = namesByTime(whole.value);
    return { marks, kinds: rowsOf(whole.value, kinds), names, longest: longestOf(whole.value) };
  }, [marks, whole.value]);
}

/** More names than this do not get individual colours. */
const NAMES_MAX = 8;

function Legend({ picture }: { picture: SpanPicture }): JSX.Element | null {
  const palette = paletteFor(isDark.value, safeColours.value);
  if (picture.names.length < 2 || picture.names.length > NAMES_MAX) return null;
  return (
    <ul class="legend">
      {picture.names.map((name) => (
        <li key={name}>
          <i style={{ background: css(colourOf(name, picture.names, palette), palette) }} />
          {shorten(name || "other", 28)}
        </li>
      ))}
    </ul>
  );
}

function MarkTip({ picture, mark, x, y }: { picture: SpanPicture; mark: number; x: number; y: number }): JSX.Element {
  const { marks } = picture;
  const thread = overview.value?.threads[marks.thread[mark]];
  const decimals = decimalsFor(Math.max(marks.duration[mark] / 100, 1_000));
  return (
    <Tip x={x} y={y}>
      <strong>{shorten(marks.name[mark] || kindTitle(marks.kind[mark]), 120)}</strong>
      <br />
      {kindTitle(marks.kind[mark])}, {duration(marks.duration[mark])}
      {marks.merged[mark] > 1 &&
        ` (${counted(marks.merged[mark], "span")}, the longest ${duration(marks.longest[mark])})`}
      <br />
      <span class="faint">
        {timeOfDay(origin.value, marks.t[mark], zone.value, decimals)}
        {thread && ` · ${shorten(thread.name, 60)}`}
      </span>
      <Legend picture={picture} />
    </Tip>
  );
}
