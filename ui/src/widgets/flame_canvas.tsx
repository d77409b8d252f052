// A flame graph with zoom, pointer and keyboard support. Only visible frames are drawn.

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
  /** Changes when another graph is shown, which starts unzoomed. Does not change when the same graph gets more frames. */
  identity: string;
  /** The zoomed frame; 0 is the whole graph. */
  zoomed: number;
  onZoom: (row: number) => void;
  /** In a pair, which of the two it is. The legend is then above both. */
  side?: Side | undefined;
  /** Whether it scrolls together with another graph, which then decides what is visible at first. */
  isFollower?: boolean | undefined;
}

/** What the graph shows, and its total. */
export interface Side {
  name: string;
  whole: string;
}

/** The maximum height of a canvas. */
const ON_PAPER: CssPixels = 30_000;
/** How many frames stay visible above and below the scroll target. */
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
  // A match may be deeper than the visible part, and so may the point where most stacks branch.
  useEffect(() => {
    if (scroller.current && !isFollower)
      showDepth(scroller.current, isSearching ? largestMatch(flame, matches) : mainDepth(flame));
  }, [identity, matches, isSearching, isFollower]);
  const shown = zoomed < flame.rows.depth.length ? zoomed : 0;
  // After zooming, another frame is under the pointer.
  useEffect(() => hover(null), [shown]);
  const height = (flame.deepest + 1) * FRAME_HEIGHT;
  // Stacks may be thousands of frames deep, but a canvas has a maximum height: it covers the visible part only.
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

/** The current height of an element. */
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

/** Scrolls to frames of a depth; -1 does nothing. */
function showDepth(scroller: HTMLElement, depth: number): void {
  const [from, to] = [depth - CONTEXT, depth + CONTEXT + 1].map((row) => Math.max(row, 0) * FRAME_HEIGHT);
  const isInSight = from >= scroller.scrollTop && to <= scroller.scrollTop + scroller.clientHeight;
  if (depth >= 0 && !isInSight) scroller.scrollTop = from;
}

/** The depth of the largest matching frame; -1 if there is none. */
function largestMatch({ rows }: FlameLayout, matches: Matches): number {
  let largest = -1;
  for (let row = 0; row < rows.depth.length; row += 1) {
    if (matches.rows[row] === 1 && (largest < 0 || rows.total[row] > rows.total[largest])) largest = row;
  }
  return largest < 0 ? -1 : rows.depth[largest];
}

/** The target of an arrow key: down to the largest child, up to the caller, left and right among siblings. */
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

/** The current frame with its share, and its actions. */
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
