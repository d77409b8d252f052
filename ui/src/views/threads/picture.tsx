// The picture of the thread rows in sight.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { Canvas, font } from "../../charts/canvas.tsx";
import { cellsByThread, drawHeatRow, drawRole, type HeatPicture, stackOfRole } from "../../charts/heat_lane.ts";
import { css, type Hsl, type Palette, paletteFor, stateColours } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { Heat, HeatQuery, RoleHeat, Source } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import {
  askedWindow,
  chosenThreads,
  event,
  heatOf,
  overview,
  plotWidth,
  shownWindow,
  source,
} from "../../state/store.ts";
import { type Answered, CellTip, type Hovered, notableStates } from "./cell_tip.tsx";
import { ROLE_HEIGHT, ROW_HEIGHT, type Row, type Rows, visibleRows } from "./rows.ts";

/** Columns of the rows that stand for whole roles, whatever the number of threads. */
const ROLE_COLUMNS = 240;
const MOST_COLUMNS = 1_500;
/** The width of a cell. */
const CELL = 3;

export function RowsCanvas(properties: {
  all: Rows;
  first: number;
  end: number;
  /** Tells which states are in sight. */
  onStates: (states: ReadonlySet<number>) => void;
}): JSX.Element {
  const { all, first, end, onStates } = properties;
  const rows = all.rows.slice(first, end);
  const threads = useMemo(
    () => rows.flatMap((row) => (row.kind === "thread" ? [row.thread.index] : [])),
    [all, first, end],
  );
  const window = askedWindow.value;
  const seen = shownWindow.value.to - shownWindow.value.from;
  const wanted = Math.ceil((plotWidth.value / CELL) * ((window.to - window.from) / seen));
  const cells = useHeat(threads, Math.min(quantised(wanted), MOST_COLUMNS));
  const sums = useRoleHeat();
  const rowsOfCells = useMemo(() => (cells ? cellsByThread(cells.heat) : null), [cells]);
  useEffect(() => onStates(cells ? notableStates(cells.heat) : new Set()), [cells]);
  const [hovered, hover] = useState<Hovered | null>(null);
  const height = all.tops[end] - all.tops[first];
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const scale = new TimeScale(shownWindow.value, width);
      const picture = { all, first, end, palette, scale };
      if (sums) drawRoles(context, picture, sums);
      if (cells && rowsOfCells) drawThreads(context, picture, cells, rowsOfCells);
    },
    [all, first, end, cells, sums],
  );
  const onMove = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [row] = visibleRows(all, all.tops[first] + event.clientY - box.top, Number.POSITIVE_INFINITY);
    const at = new TimeScale(shownWindow.peek(), box.width).time(event.clientX - box.left);
    hover(cells && { row: all.rows[row], at, x: event.clientX, y: event.clientY });
  };
  return (
    <>
      <Canvas
        draw={draw}
        height={height}
        label="How busy each thread was over time"
        onPointerMove={onMove}
        onPointerLeave={() => hover(null)}
      />
      {hovered && cells && <CellTip {...hovered} answered={cells} />}
    </>
  );
}

/** A few steps of resolution instead of one per pixel of width. */
function quantised(columns: number): number {
  return Math.ceil(columns / 100) * 100;
}

function useHeat(threads: readonly number[], columns: number): Answered<Heat> | null {
  return useQuery({ columns, threads }, threads.length > 0, (from, query, signal) => from.heat(query, signal));
}

function useRoleHeat(): Answered<RoleHeat> | null {
  return useQuery({ columns: ROLE_COLUMNS }, true, (from, query, signal) => from.roleHeat(query, signal));
}

/** Asks for something of the time in sight, and keeps with the answer what it is of. */
function useQuery<Q extends { columns: number }, T>(
  asked: Q,
  isWanted: boolean,
  ask: (from: Source, query: Q & Omit<HeatQuery, "columns" | "threads">, signal: AbortSignal) => Promise<T>,
): Answered<T> | null {
  const from = source.value;
  const window = askedWindow.value;
  const query = { ...window, by: heatOf.value, event: event.value?.id ?? "", ...asked };
  const isAsked = from !== null && isWanted && (query.by === "state" || query.event !== "");
  const answer = useAnswer<Answered<T>>(
    isAsked ? JSON.stringify(query) : null,
    async (signal) => {
      if (!from) throw new Error("no recording");
      return { heat: await ask(from, query, signal), ...window };
    },
    60,
  );
  return answer.value;
}

interface Picture {
  all: Rows;
  first: number;
  end: number;
  palette: Palette;
  scale: TimeScale;
}

function eachRow({ all, first, end }: Picture, visit: (row: Row, top: number) => void): void {
  for (let index = first; index < end; index += 1) visit(all.rows[index], all.tops[index] - all.tops[first]);
}

function drawThreads(
  context: CanvasRenderingContext2D,
  picture: Picture,
  answered: Answered<Heat>,
  rows: ReadonlyMap<number, readonly number[]>,
): void {
  const chosen = chosenThreads.value === "all" ? null : new Set(chosenThreads.value);
  eachRow(picture, (row, top) => {
    if (row.kind !== "thread") return;
    const cells = rows.get(row.thread.index);
    context.globalAlpha = chosen && !chosen.has(row.thread.index) ? 0.4 : 1;
    const heat: HeatPicture = { ...answered, time: answered, colours: coloursOf(row.thread.role, picture.palette) };
    if (cells)
      drawHeatRow(context, heat, cells, picture.scale, { top: top + 1, height: ROW_HEIGHT - 2 }, picture.palette);
    context.globalAlpha = 1;
  });
}

function drawRoles(context: CanvasRenderingContext2D, picture: Picture, answered: Answered<RoleHeat>): void {
  const { palette, scale } = picture;
  const roles = overview.value?.roles ?? [];
  const states = stateColours(overview.value?.states ?? [], palette);
  eachRow(picture, (row, top) => {
    if (row.kind !== "role") return;
    const place = roles.findIndex(({ id }) => id === row.id);
    const stack = stackOfRole(answered.heat, place);
    const full = fullOf(answered);
    const most = Math.max(stack.most, full ?? 0);
    if (!(most > 0)) return;
    const colours = stack.states.map((state) => css(states[state] ?? roleColour(row.id, palette), palette, 0, 0.9));
    const box = { top: top + 3, height: ROLE_HEIGHT - 6 };
    drawRole(context, stack, answered, scale, box, most, colours);
    if (full !== null) drawTop(context, `${amount(most / full, "threads")} ↥`, box.top, scale, palette);
  });
}

/** The value of one thread that is busy all the time, where values are time. */
function fullOf({ heat, from, to }: Answered<RoleHeat>): number | null {
  return heat.full === 1 || heat.full === (to - from) / heat.columns ? heat.full : null;
}

/** How many threads the height of a row stands for. */
function drawTop(
  context: CanvasRenderingContext2D,
  text: string,
  top: number,
  scale: TimeScale,
  palette: Palette,
): void {
  context.font = font(10);
  context.textBaseline = "top";
  context.textAlign = "right";
  const width = context.measureText(text).width;
  context.fillStyle = palette.surface;
  context.globalAlpha = 0.75;
  context.fillRect(scale.width - width - 8, top, width + 6, 12);
  context.globalAlpha = 1;
  context.fillStyle = palette.muted;
  context.fillText(text, scale.width - 5, top + 1);
  context.textAlign = "left";
}

/** Colours of states; of samples, that of the role. */
function coloursOf(role: string, palette: Palette): readonly Hsl[] {
  if (heatOf.value === "samples") return [roleColour(role, palette)];
  return stateColours(overview.value?.states ?? [], palette);
}

const ROLE_STATES: Record<string, string> = {
  handler: "java",
  java: "java",
  compiler: "compiler",
  gc: "gc",
  vm: "vm",
  native: "native",
  kernel: "kernel",
};

function roleColour(role: string, palette: Palette): Hsl {
  return palette.states[ROLE_STATES[role] ?? "unknown"];
}
