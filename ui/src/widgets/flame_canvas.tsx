// A flame graph that can be zoomed, pointed at and walked with the keyboard. Only the frames in sight are drawn.

import type { JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { eventAmount, share } from "../base/numbers.ts";
import type { CssPixels } from "../base/quantities.ts";
import { clean, shorten, spaced } from "../base/text.ts";
import { Canvas } from "../charts/canvas.tsx";
import { drawFlame, FRAME_HEIGHT } from "../charts/flame_draw.ts";
import { type FlameLayout, frameAt, type Matches, mainDepth } from "../charts/flame_layout.ts";
import { paletteFor } from "../charts/palette.ts";
import { isDark, isForPaper, safeColours } from "../state/appearance.ts";
import { overview, update } from "../state/store.ts";
import { Button, Tip } from "./controls.tsx";
import { LayerLegend } from "./layer_legend.tsx";

interface Properties {
  flame: FlameLayout;
  matches: Matches;
  isSearching: boolean;
  isCompared: boolean;
  /** Changes when another graph is shown, which begins with all of it; not when the same one gets more frames. */
  identity: string;
  /** The frame that it is zoomed to; 0 is all. */
  zoomed: number;
  onZoom: (row: number) => void;
  /** Of a pair, which one it is; the legend then stands above both. */
  side?: Side | undefined;
  /** Whether it is scrolled with another one, which decides what is in sight to begin with. */
  isFollower?: boolean | undefined;
}

/** Of what a graph is, and how much there is of it. */
export interface Side {
  name: string;
  whole: string;
}

/** Higher than this a canvas cannot be. */
const ON_PAPER: CssPixels = 30_000;
/** So many frames are in sight above and below what is scrolled to. */
const CONTEXT = 3;

interface Hovered {
  row: number;
  x: number;
  y: number;
}

export function FlameCanvas(properties: Properties): JSX.Element {
  const { flame, matches, isSearching, isCompared, identity, zoomed, onZoom: zoom } = properties;
  const { side, isFollower = false } = properties;
  const [hovered, hover] = useState<Hovered | null>(null);
  const [focused, focus] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const [scrolledBy, scrolled] = useState(0);
  const seen = useHeight(scroller);
  useEffect(() => {
    focus(0);
    hover(null);
  }, [identity]);
  // What is looked for may lie deeper than what is in sight, and so may where most stacks part.
  useEffect(() => {
    if (scroller.current && !isFollower)
      showDepth(scroller.current, isSearching ? largestMatch(flame, matches) : mainDepth(flame));
  }, [identity, matches, isSearching, isFollower]);
  const shown = zoomed < flame.rows.depth.length ? zoomed : 0;
  // Another frame is under the pointer now.
  useEffect(() => hover(null), [shown]);
  const height = (flame.deepest + 1) * FRAME_HEIGHT;
  // Stacks may be thousands of frames deep, a canvas may not: it is as high as what is in sight, and stays there.
  const [top, high] = isForPaper.value ? [0, Math.min(height, ON_PAPER)] : [scrolledBy, Math.min(height, seen)];
  const marked = hovered?.row ?? (focused > 0 ? focused : -1);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const picture = { flame, zoomed: shown, matches, isSearching, isCompared, hovered: marked };
      context.translate(0, -top);
      drawFlame(context, picture, { width, top, bottom: top + high }, palette);
    },
    [flame, shown, matches, isSearching, isCompared, marked, top, high],
  );
  const rowUnder = (event: MouseEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top + top) / FRAME_HEIGHT);
    return frameAt(flame, shown, (event.clientX - box.left) / box.width, depth);
  };
  return (
    <>
      <Path
        flame={flame}
        row={marked >= 0 ? marked : shown}
        zoomed={shown}
        isCompared={isCompared}
        onZoom={zoom}
        side={side}
      />
      <div class="flame-scroll" ref={scroller} onScroll={(event) => scrolled(event.currentTarget.scrollTop)}>
        <div style={{ height: `${height}px` }}>
          <Canvas
            draw={draw}
            height={high}
            label={labelOf(flame, focused)}
            tabIndex={0}
            data-arrows="true"
            onPointerMove={(event: PointerEvent) => {
              const row = rowUnder(event);
              hover(row < 0 ? null : { row, x: event.clientX, y: event.clientY });
            }}
            onPointerLeave={() => hover(null)}
            onClick={(event: MouseEvent) => zoom(Math.max(rowUnder(event), 0))}
            onKeyDown={(event: KeyboardEvent) => {
              const next = step(flame, focused, event.key);
              if (event.key === "Enter") zoom(focused);
              if (event.key === "Escape") zoom(0);
              if (next !== null) focus(next);
              if (next !== null || event.key === "Enter" || event.key === "Escape") event.preventDefault();
            }}
          />
        </div>
      </div>
      {hovered && <FrameTip flame={flame} {...hovered} />}
    </>
  );
}

/** How high an element is, as it changes. */
function useHeight(element: { current: HTMLElement | null }): CssPixels {
  const [height, measured] = useState(0);
  useLayoutEffect(() => {
    const watched = element.current;
    if (!watched) return;
    const observer = new ResizeObserver(() => measured(watched.clientHeight));
    observer.observe(watched);
    measured(watched.clientHeight);
    return () => observer.disconnect();
  }, []);
  return height;
}

/** Sees to it that frames of a depth are in sight; -1 asks for none. */
function showDepth(scroller: HTMLElement, depth: number): void {
  const [from, to] = [depth - CONTEXT, depth + CONTEXT + 1].map((row) => Math.max(row, 0) * FRAME_HEIGHT);
  const isInSight = from >= scroller.scrollTop && to <= scroller.scrollTop + scroller.clientHeight;
  if (depth >= 0 && !isInSight) scroller.scrollTop = from;
}

/** How deep the largest frame lies that was looked for; -1 when there is none. */
function largestMatch({ rows }: FlameLayout, matches: Matches): number {
  let largest = -1;
  for (let row = 0; row < rows.depth.length; row += 1) {
    if (matches.rows[row] === 1 && (largest < 0 || rows.total[row] > rows.total[largest])) largest = row;
  }
  return largest < 0 ? -1 : rows.depth[largest];
}

/** Where an arrow key leads: down to the largest child, up to the caller, to both sides among siblings. */
function step({ parent, end, rows }: FlameLayout, row: number, key: string): number | null {
  if (key === "ArrowDown") return end[row] > row + 1 ? row + 1 : row;
  if (key === "ArrowUp") return Math.max(parent[row], 0);
  if (key === "ArrowRight")
    return end[row] < rows.depth.length && rows.depth[end[row]] === rows.depth[row] ? end[row] : row;
  if (key !== "ArrowLeft") return null;
  for (let at = row - 1; at > parent[row]; at -= 1) if (parent[at] === parent[row]) return at;
  return row;
}

function labelOf({ rows }: FlameLayout, row: number): string {
  const part = share(rows.total[row] / (rows.total[0] || 1));
  return `Flame graph; ${clean(rows.name[row], 200)}, ${part}. Arrow keys walk, Enter zooms, Escape shows all`;
}

/** The frame that is meant, with its share, and what can be done with it. */
function Path(properties: {
  flame: FlameLayout;
  row: number;
  zoomed: number;
  isCompared: boolean;
  onZoom: (row: number) => void;
  side: Side | undefined;
}): JSX.Element {
  const { flame, row, zoomed, isCompared, onZoom, side } = properties;
  const { rows } = flame;
  const kinds = useMemo(() => new Set(rows.kind), [rows]);
  if (side && row === 0) return <SideLine {...side} />;
  return (
    <div class="frame-line">
      {side && <h2>{side.name}</h2>}
      <span class="number">{share(rows.total[row] / (rows.total[0] || 1))}</span>
      <span class="name">{shorten(rows.name[row], 160)}</span>
      <span class="faint">
        {[rows.kind[row], shorten(rows.module[row], 60)].filter((part) => part !== "").join(" · ")}
      </span>
      <span class="spacer" />
      {zoomed === 0 && !side && (
        <LayerLegend isCompared={isCompared} thinned={overview.value?.thinned ?? 1} kinds={kinds} />
      )}
      {zoomed > 0 && (
        <>
          <Button kind="link" onClick={() => update({ tab: "frames", frame: rows.name[zoomed] })}>
            callers and callees
          </Button>
          <Button kind="link" onClick={() => onZoom(0)}>
            show all
          </Button>
        </>
      )}
    </div>
  );
}

function SideLine({ name, whole }: Side): JSX.Element {
  return (
    <div class="frame-line" title={`${name} ${whole}`}>
      <h2>
        {name} <span class="muted">{whole}</span>
      </h2>
    </div>
  );
}

function FrameTip({ flame: { rows }, row, x, y }: Hovered & { flame: FlameLayout }): JSX.Element {
  const whole = rows.total[0] || 1;
  return (
    <Tip x={x} y={y}>
      <strong>{clean(rows.name[row], 600)}</strong>
      <br />
      {eventAmount(rows.total[row], rows.unit)} ({share(rows.total[row] / whole)}), own {share(rows.self[row] / whole)}
      {rows.base.length > 0 && (
        <>
          <br />
          baseline {eventAmount(rows.base[row], rows.unit)}
        </>
      )}
      <br />
      <span class="faint">
        {[spaced(rows.kind[row]), clean(rows.module[row], 200)].filter((part) => part !== "").join(" · ")}
      </span>
    </Tip>
  );
}
