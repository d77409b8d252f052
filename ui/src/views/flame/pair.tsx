// The flame graph of the selection next to that of the quiet time, below one legend. Both are zoomed to the same frame and have the
// same scroll position, so frames at the same height have the same depth. If the quiet time has no such frame, the other gets its space.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { amount, duration, eventAmount } from "../../base/numbers.ts";
import { lengthOf } from "../../base/quantities.ts";
import { counted } from "../../base/text.ts";
import { keptOfBaseline, layout, ofBaseline } from "../../charts/flame_layout.ts";
import type { FlameRows } from "../../data/source.ts";
import { overview, picked, selection, view } from "../../state/store.ts";
import { LayerLegend } from "../../widgets/layer_legend.tsx";
import { Graph, type GraphProperties, matchesOf } from "./graph.tsx";

export function Pair(properties: GraphProperties): JSX.Element {
  const { rows } = properties.flame;
  const kinds = useMemo(() => new Set(rows.kind), [rows]);
  const scrollBoth = useScrolledTogether();
  const isQuiet = rows.base[0] > 0;
  const samples = counted(rows.samples, "sample");
  const side = {
    name: picked.value ? "picked time" : "slow time",
    whole: told([rows.unit !== "samples" && muchOf(rows), samples, !isQuiet && "none in the quiet time"]),
  };
  return (
    <>
      <LayerLegend isCompared={false} thinned={overview.value?.thinned ?? 1} kinds={kinds} />
      <div class={isQuiet ? "flame-pair" : "flame-pair alone"} onScrollCapture={scrollBoth}>
        <section class="slow" aria-label="Picked time">
          <Graph {...properties} side={side} />
        </section>
        {isQuiet && (
          <section class="quiet" aria-label="Quiet time">
            <Quiet {...properties} />
          </section>
        )}
      </div>
    </>
  );
}

/** The same for the quiet time, scaled to the length of the selection. */
function Quiet(properties: GraphProperties): JSX.Element {
  const { flame, zoomed, onZoom } = properties;
  const kept = useMemo(() => keptOfBaseline(flame.rows), [flame]);
  // As high as the other one, so that both have the same scroll range.
  const quiet = useMemo(() => ({ ...layout(ofBaseline(flame.rows, kept)), deepest: flame.deepest }), [flame, kept]);
  const typed = view.value.search;
  const matches = useMemo(() => matchesOf(quiet, typed), [quiet, typed]);
  const scaled = `scaled to ${duration(lengthOf(selection.value))}`;
  const side = { name: "quiet time", whole: told([muchOf(quiet.rows), scaled]) };
  const zoomedTo = { zoomed: kept.indexOf(zoomed), onZoom: (row: number) => onZoom(kept[row]) };
  return <Graph {...properties} {...zoomedTo} flame={quiet} matches={matches} side={side} isFollower />;
}

/** The total of a graph; for time also the number of threads. */
function muchOf({ total: [whole], unit }: FlameRows): string {
  const much = eventAmount(whole, unit);
  return unit === "ns" ? `${much} (${amount(whole / lengthOf(selection.value), "threads")})` : much;
}

function told(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false).join(", ");
}

/** Scrolls the other graph together with the one that the user scrolls. */
function useScrolledTogether(): (event: Event) => void {
  // The position to which this code scrolled a graph, until its scroll event arrives.
  const moved = useRef(new WeakMap<Element, number>());
  return ({ currentTarget, target }) => {
    const [pair, scrolled] = [currentTarget as Element, target as Element];
    const isOwn = moved.current.get(scrolled) === scrolled.scrollTop;
    moved.current.delete(scrolled);
    if (isOwn) return;
    for (const other of pair.querySelectorAll(".flame-scroll")) {
      if (other === scrolled || other.scrollTop === scrolled.scrollTop) continue;
      other.scrollTop = scrolled.scrollTop;
      moved.current.set(other, other.scrollTop);
    }
  };
}
