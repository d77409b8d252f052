// The picture of the visible thread rows.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { Canvas, font } from "../../charts/canvas.tsx";
import { drawFoundLine, sumOf } from "../../charts/found_lane.ts";
import { drawUnknown } from "../../charts/hatch.ts";
import { cellsByThread, drawHeatRow, drawRole, type HeatPicture, stackOfRole } from "../../charts/heat_lane.ts";
import { css, type Hsl, type Palette, paletteFor, stateColours } from "../../charts/palette.ts";
import { TimeScale } from "../../charts/scale.ts";
import type { Heat, RoleHeat } from "../../data/source.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { askedWindow, chosenThreads, heatOf, meant, overview, plotWidth, shownWindow } from "../../state/store.ts";
import { CellTip, type Hovered, lifeOf, notableStates } from "./cell_tip.tsx";
import { ROLE_HEIGHT, ROW_HEIGHT, type Row, type Rows, visibleRows } from "./rows.ts";
import { type Answered, useHeat, useRoleHeat } from "./use_heat.ts";

/** The number of columns in the rows of whole roles, for any number of threads. */
const ROLE_COLUMNS = 240;
const MOST_COLUMNS = 1_500;
/** The width of a cell. */
const CELL = 3;

export function RowsCanvas(properties: {
  all: Rows;
  first: number;
  end: number;
  /** Reports which states are visible. */
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
  const columns = Math.min(quantised(wanted), MOST_COLUMNS);
  const cells = useHeat({ columns, threads });
  const sums = useRoleHeat({ columns: ROLE_COLUMNS });
  const matching = meant.value;
  const found = useHeat({ columns, threads, by: "samples", matching });
  const foundSums = useRoleHeat({ columns: ROLE_COLUMNS, by: "samples", matching });
  const rowsOfCells = useMemo(() => (cells ? cellsByThread(cells.heat) : null), [cells]);
  useEffect(() => onStates(cells ? notableStates(cells.heat) : new Set()), [cells]);
  const [hovered, hover] = useState<Hovered | null>(null);
  const height = all.tops[end] - all.tops[first];
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const scale = new TimeScale(shownWindow.value, width);
      const picture = { all, first, end, palette, scale };
      if (sums) drawRoles(context, picture, sums, foundSums);
      if (cells && rowsOfCells) drawThreads(context, picture, cells, rowsOfCells);
      if (found) drawFoundCells(context, picture, found);
    },
    [all, first, end, cells, sums, found, foundSums],
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

/** Rounds the resolution to a few steps, instead of one per pixel of width. */
function quantised(columns: number): number {
  return Math.ceil(columns / 100) * 100;
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
    const box = { top: top + 1, height: ROW_HEIGHT - 2 };
    if (heatOf.value === "state") drawUnknown(context, lifeOf(row.thread), picture.scale, box, picture.palette);
    if (cells) drawHeatRow(context, heat, cells, picture.scale, box, picture.palette);
    context.globalAlpha = 1;
  });
}

/** The height of the strip that shows the matching part of a thread's time. */
const STRIP = 4;

/** Draws the strip below each thread that shows when its stacks matched. */
function drawFoundCells(context: CanvasRenderingContext2D, picture: Picture, answered: Answered<Heat>): void {
  const rows = cellsByThread(answered.heat);
  const heat: HeatPicture = { ...answered, time: answered, colours: [picture.palette.found] };
  eachRow(picture, (row, top) => {
    const cells = row.kind === "thread" ? rows.get(row.thread.index) : undefined;
    if (!cells) return;
    const strip = { top: top + ROW_HEIGHT - 1 - STRIP, height: STRIP };
    drawHeatRow(context, heat, cells, picture.scale, strip, picture.palette);
  });
}

function drawRoles(
  context: CanvasRenderingContext2D,
  picture: Picture,
  answered: Answered<RoleHeat>,
  found: Answered<RoleHeat> | null,
): void {
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
    if (found) drawFoundOf(context, picture, found, place, { ...box, most, full });
    if (full !== null) drawTop(context, `${amount(most / full, "threads")} ↥`, box.top, scale, palette);
  });
}

/** The matching part of a role: a line on the scale of the row, which must also count threads, or the same weights. */
function drawFoundOf(
  context: CanvasRenderingContext2D,
  { palette, scale }: Picture,
  found: Answered<RoleHeat>,
  role: number,
  { full, ...row }: { top: number; height: number; most: number; full: number | null },
): void {
  const unit = fullOf(found);
  const ofThreads = full !== null && unit !== null ? full / unit : 0;
  const ratio = heatOf.value === "samples" ? 1 : ofThreads;
  if (ratio === 0) return;
  const values = sumOf(onlyRole(found.heat, role)).map((value) => value * ratio);
  drawFoundLine(context, values, found, scale, row, palette);
}

/** The cells of one role. */
function onlyRole(heat: RoleHeat, role: number): RoleHeat {
  const chosen = [...heat.role.keys()].filter((cell) => heat.role[cell] === role);
  const [column, value] = [
    Int32Array.from(chosen, (cell) => heat.column[cell]),
    Float32Array.from(chosen, (cell) => heat.value[cell]),
  ];
  return { ...heat, column, value };
}

/** The value of one thread that is always busy, if values are time. */
function fullOf({ heat, from, to }: Answered<RoleHeat>): number | null {
  // The edges were rounded to whole nanoseconds before.
  const isColumn = Math.abs(heat.full / ((to - from) / heat.columns) - 1) < 1e-6;
  return heat.full === 1 || isColumn ? heat.full : null;
}

/** How many threads the height of a row represents. */
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

/** The colours of states; for samples, the colour of the role. */
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
