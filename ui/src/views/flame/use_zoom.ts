// The frame that the flame graph is zoomed to. That of the plain graph is a part of the state, so that it is drawn on the axis and
// stays while other times are picked; a graph from the leaves has no such frames, and neither has the quiet time alone.

import { useState } from "preact/hooks";
import type { FlameLayout } from "../../charts/flame_layout.ts";
import { update, view } from "../../state/store.ts";

/** The row that is zoomed to, 0 for all, and how to zoom to another; `identity` names the graph. */
export function useZoom(flame: FlameLayout | null, identity: string): [row: number, zoomTo: (row: number) => void] {
  const [own, setOwn] = useState({ identity, row: 0 });
  const { zoom, inverted } = view.value;
  const ownRow = own.identity === identity ? own.row : 0;
  if (inverted) return [ownRow, (row) => setOwn({ identity, row })];
  const rows = flame?.rows;
  const row = zoom && rows ? Math.max(rows.node.indexOf(zoom.node), 0) : ownRow;
  return [
    row,
    (next) => {
      const node = rows?.node[next] ?? 0;
      setOwn({ identity, row: node > 0 ? 0 : next });
      update({ zoom: node > 0 && rows ? { node, name: rows.name[next].slice(0, 300) } : null });
    },
  ];
}
