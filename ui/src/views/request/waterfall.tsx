// The waterfall of a request: its phases, the states of its threads until it was answered, and what they did meanwhile.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { duration, share } from "../../base/numbers.ts";
import { clean } from "../../base/text.ts";
import { timeOfDay } from "../../base/time.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { drawUnknown } from "../../charts/hatch.ts";
import { cellsByThread, drawHeatRow } from "../../charts/heat_lane.ts";
import { css, paletteFor, stateColours } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import { type Bar, barsOf, partsOf, phasesOf } from "../../charts/waterfall.ts";
import type { Heat, SpanRow, TableQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { goTo, kindTitle, origin, overview, source, zone } from "../../state/store.ts";
import type { PickedRequest } from "../../state/view_state.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import { rowOf } from "./picked.ts";

const COLUMNS = 600;
const STRIP_HEIGHT = 18;
/** The maximum number of spans in a request: the longest are kept. */
const MOST_SPANS = 400;

export function Waterfall({ request }: { request: PickedRequest }): JSX.Element {
  const known = useRow(request);
  const threads = threadsOf(request, known);
  return (
    <section class="waterfall" aria-label="One request">
      <p>
        <strong>{duration(request.to - request.from)}</strong> from{" "}
        <time>{timeOfDay(origin.value, request.from, zone.value, 3)}</time>
        {known && <Way detail={known.detail} />}{" "}
        <Button kind="link" onClick={() => goTo(request)}>
          show on the axis
        </Button>
      </p>
      {threads.length === 0 ? (
        <Note>Which thread served it was not recorded: a latency file tells how long requests took, no more.</Note>
      ) : (
        <>
          {threads.map((thread) => (
            <States key={thread} request={request} thread={thread} />
          ))}
          <Bars request={request} threads={threads} />
        </>
      )}
    </section>
  );
}

/** Its recorded span; nothing until that is loaded. */
function useRow(request: PickedRequest): SpanRow | null {
  const from = source.value;
  const question = JSON.stringify(request);
  const { value, answers } = useAnswer(from ? question : null, (signal) =>
    from ? rowOf(from, request, signal) : Promise.reject(new Error("no recording")),
  );
  return answers === question ? value : null;
}

/** The thread that answered, and the thread that read the request, if they differ. */
function threadsOf({ thread }: PickedRequest, known: SpanRow | null): number[] {
  const reader = known && phasesOf(known.detail).reader;
  const other = overview.value?.threads.find(({ tid }) => tid === reader)?.index ?? -1;
  return [...new Set([other, thread])].filter((index) => index >= 0);
}

function Way({ detail }: { detail: string }): JSX.Element | null {
  const { unread, firstByte, unsent, unsentFor } = phasesOf(detail);
  const parts = [
    unread === null ? "" : `read after ${duration(unread)}`,
    firstByte === null ? "" : `answered from ${duration(firstByte)} on`,
    unsent === null ? "" : `its end held in the kernel for ${duration(unsent)} (${clean(unsentFor, 40)})`,
  ].filter((part) => part !== "");
  return parts.length > 0 ? <span class="muted">, {parts.join(", ")}</span> : null;
}

/** What one thread did, as a strip in the colours of the states, and as text. */
function States({ request, thread }: { request: PickedRequest; thread: number }): JSX.Element {
  const from = source.value;
  const { from: begin, to } = request;
  const query = { from: begin, to, by: "state", event: "", columns: COLUMNS, threads: [thread] } as const;
  const { value: heat } = useAnswer(
    from ? JSON.stringify(query) : null,
    (signal) => from?.heat(query, signal) ?? Promise.reject(new Error("no recording")),
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      if (!heat) return;
      const palette = paletteFor(isDark.value, safeColours.value);
      const colours = stateColours(overview.value?.states ?? [], palette);
      const picture = { heat, time: { from: begin, to }, colours };
      const cells = cellsByThread(heat).get(thread) ?? [];
      const [scale, row] = [new TimeScale({ from: begin, to }, width), { top: 0, height }];
      drawUnknown(context, { from: begin, to }, scale, row, palette);
      drawHeatRow(context, picture, cells, scale, row, palette);
    },
    [heat, begin, to, thread],
  );
  return (
    <div class="waterfall-row">
      <Name text={overview.value?.threads[thread]?.name ?? ""} longest={34} />
      <div>
        <Canvas draw={draw} height={STRIP_HEIGHT} label="What the thread did while the request was waited for" />
        {heat && <Words heat={heat} thread={thread} />}
      </div>
    </div>
  );
}

function Words({ heat, thread }: { heat: Heat; thread: number }): JSX.Element {
  const palette = paletteFor(isDark.value, safeColours.value);
  const states = overview.value?.states ?? [];
  const colours = stateColours(states, palette);
  const parts = partsOf(heat, thread).filter(({ part }) => part >= 0.005);
  const rest = 1 - parts.reduce((sum, { part }) => sum + part, 0);
  return (
    <ul class="legend inline">
      {parts.map(({ state, part }) => (
        <li key={state}>
          <i style={{ background: css(colours[state], palette) }} />
          {states[state]?.title} {share(part)}
        </li>
      ))}
      {rest >= 0.005 && <li class="muted">not known {share(rest)}</li>}
    </ul>
  );
}

/** The spans in the request: waits, faults, calls. */
function Bars({ request, threads }: { request: PickedRequest; threads: readonly number[] }): JSX.Element | null {
  const from = source.value;
  const query: TableQuery = {
    ...{ from: request.from, to: request.to, kinds: [], took: null, threads, find: "" },
    ...{ sort: "duration", order: "desc", limit: MOST_SPANS, offset: 0 },
  };
  const { value } = useAnswer(
    from ? JSON.stringify(query) : null,
    (signal) => from?.table(query, signal) ?? Promise.reject(new Error("no recording")),
  );
  if (!value) return null;
  // A thread of an asynchronous server has many requests at once. The others are not a part of this one.
  const others = value.rows.filter(({ kind }) => kind !== "request");
  const { bars, hidden } = barsOf(others, request);
  return (
    <ul class="waterfall-bars" aria-label="What lay in it">
      {bars.map((bar) => (
        <BarLine key={`${bar.row.kind} ${bar.row.t} ${bar.row.duration}`} bar={bar} />
      ))}
      {hidden > 0 && <li class="faint">and {hidden} that are shorter</li>}
    </ul>
  );
}

function BarLine({ bar: { row, left, width } }: { bar: Bar }): JSX.Element {
  return (
    <li>
      <span class="bar-name">
        {kindTitle(row.kind)} <span class="faint">{row.name !== "" && <Name text={row.name} longest={40} />}</span>
      </span>
      <span class="bar-track">
        <span style={{ left: `${left * 100}%`, width: `${width * 100}%` }} />
      </span>
      <span class="number">{duration(row.duration)}</span>
    </li>
  );
}
