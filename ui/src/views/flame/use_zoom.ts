// The frame that the flame graph is zoomed to. That of the plain graph is a part of the state, so that it is drawn on the axis and
// stays while other times are picked; a graph from the leaves has no such frames.

import { useState } from "preact/hooks";
import type { FlameLayout } from "../../charts/flame_layout.ts";
import { update, view } from "../../state/store.ts";

/** The row that is zoomed to, 0 for all, and how to zoom to another; `identity` names the graph. */
export function useZoom(flame: FlameLayout | null, identity: string): [row: number, zoomTo: (row: number) => void] {
  const [own, setOwn] = useState({ identity, row: 0 });
  const { zoom, inverted } = view.value;
  if (inverted) return [own.identity === identity ? own.row : 0, (row) => setOwn({ identity, row })];
  const rows = flame?.rows;
  const row = zoom && rows ? Math.max(rows.node.indexOf(zoom.node), 0) : 0;
  return [
    row,
    (next) =>
      update({ zoom: next > 0 && rows ? { node: rows.node[next], name: rows.name[next].slice(0, 300) } : null }),
  ];
}
