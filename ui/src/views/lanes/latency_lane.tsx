// The latency of all requests, on top of all lanes. A drag that also goes up or down picks requests: those
// of that time and duration are listed below.

import type { JSX } from "preact";
import { useCallback, useRef } from "preact/hooks";
import { amount, duration } from "../../base/numbers.ts";
import type { CssPixels } from "../../base/quantities.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { drawLatency, LengthScale, lengthsBetween, lineAt } from "../../charts/latency_lane.ts";
import { paletteFor } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { Latency, LatencyQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { askedWindow, plotWidth, pointed, port, shownWindow, source, update } from "../../state/store.ts";
import { Select } from "../../widgets/controls.tsx";
import { requestAt } from "../request/picked.ts";
import type { DrawnLane } from "./drawn.ts";
import { useGhostLatency } from "./ghosts.ts";
import { heightOf, LaneLabel } from "./label.tsx";

const HEIGHT: CssPixels = 96;
/** The width of a cell. */
const CELL: CssPixels = 3;
/** A flatter drag only picks a time. */
const FLAT: CssPixels = 10;
/** A smaller movement is not a drag. */
const NEAR: CssPixels = 3;
/** Quantiles of shorter parts are based on too few requests. */
const LEAST_PART_NS = 1e9;
const MOST_PARTS = 2_000;

export function LatencyLane({ lane, id }: DrawnLane): JSX.Element {
  const query = queryOf();
  const { value: latency, error } = useLatency(query);
  const ghost = useGhostLatency(query);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, wide: number, high: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const [scale, threshold] = [new TimeScale(shownWindow.value, wide), lane.threshold ?? null];
      if (latency) {
        const lengths = new LengthScale(latency, high);
        drawLatency(context, latency, scale, lengths, palette, { threshold, label: duration, ghost });
      }
    },
    [latency, ghost, lane],
  );
  const plot = useRef<HTMLDivElement>(null);
  return (
    <div class="lane pain" data-lane={lane.id} data-key={id}>
      <LaneLabel lane={lane} id={id}>
        <Port ports={lane.instances} total={lane.instances_count ?? 0} />
        {error || (latency && <Values latency={latency} />)}
      </LaneLabel>
      <div
        class="plot"
        ref={plot}
        onPointerDown={(event) => latency && plot.current && brush(event, plot.current, latency)}
      >
        <Canvas draw={draw} height={heightOf(id, HEIGHT)} label="How long requests took over time" />
      </div>
    </div>
  );
}

function queryOf(): LatencyQuery {
  const window = askedWindow.value;
  const length = window.to - window.from;
  const seen = shownWindow.value.to - shownWindow.value.from;
  const columns = Math.min(Math.ceil(((plotWidth.value / CELL) * length) / seen / 100) * 100, MOST_PARTS);
  const parts = Math.min(Math.max(Math.ceil(length / LEAST_PART_NS), 1), MOST_PARTS);
  return { ...window, columns, parts, port: port.value };
}

function useLatency(query: LatencyQuery): { value: Latency | null; error: string } {
  const from = source.value;
  return useAnswer(
    from ? JSON.stringify(query) : null,
    (signal) => from?.latency(query, signal) ?? Promise.reject(new Error("no recording")),
    60,
  );
}

/** The choice of the port: the leading one defines the slow time; others can be shown. */
function Port({ ports, total }: { ports: readonly string[]; total: number }): JSX.Element | null {
  const [leading] = ports;
  if (leading === undefined || leading === "") return null;
  if (ports.length === 1) return <span class="faint">{leading}</span>;
  const titles = ports.map((one) => [one, one === leading ? `${one} (leads)` : one] as const);
  return (
    <Select
      label={total > ports.length ? `${ports.length} of ${total} ports` : "port"}
      value={port.value}
      choices={titles}
      onChange={(chosen) => update({ port: chosen === leading ? "" : chosen })}
    />
  );
}

/** The quantiles under the pointer, otherwise the highest ones. */
function Values({ latency }: { latency: Latency }): JSX.Element {
  const { lines } = latency;
  const at = pointed.value;
  const row = at === null ? -1 : lineAt(lines, at);
  if (at !== null && row < 0) return <span class="faint">no requests</span>;
  const most = (values: Float64Array): number => values.reduce((all, one) => Math.max(all, one), 0);
  const told = (values: Float64Array): string => duration(row < 0 ? most(values) : values[row]);
  const rate = row < 0 ? null : (lines.count[row] / lines.length) * 1e9;
  return (
    <ul class="parts">
      <li>
        p50 {row < 0 && "to "}
        {told(lines.p50)}
      </li>
      <li class="p99">
        p99 {row < 0 && "to "}
        {told(lines.p99)}
      </li>
      <li>
        max {told(lines.max)}
        {rate !== null && ` · ${amount(rate, "1/s")}`}
      </li>
    </ul>
  );
}

/**
 * The drag picks the time, as on every lane. Its height selects the durations. A click opens the request
 * at that place.
 */
function brush(event: PointerEvent, plot: HTMLElement, latency: Latency): void {
  if (event.button !== 0 || event.shiftKey) return;
  const box = plot.getBoundingClientRect();
  const start = event.clientY - box.top;
  const end = (now: PointerEvent): void => {
    const [wide, last] = [Math.abs(now.clientX - event.clientX), now.clientY - box.top];
    const lengths = new LengthScale(latency, box.height);
    if (wide <= NEAR && Math.abs(last - start) <= NEAR) void openAt(event.clientX - box.left, last, box.width, lengths);
    if (Math.abs(last - start) < FLAT || wide === 0) return;
    const took = lengthsBetween(lengths, start, last);
    update({ tab: "spans", kinds: ["request"], took, find: port.peek(), threads: "" });
  };
  window.addEventListener("pointerup", end, { once: true });
}

/** Opens the longest request near a place of the picture. */
async function openAt(x: CssPixels, y: CssPixels, width: CssPixels, lengths: LengthScale): Promise<void> {
  const from = source.peek();
  const scale = new TimeScale(shownWindow.peek(), width);
  const began = { from: scale.time(x - CELL), to: scale.time(x + CELL) };
  const took = lengthsBetween(lengths, y + CELL, y - CELL);
  const request = from && (await requestAt(from, began, took, port.peek()));
  if (request) update({ tab: "request", request });
}
