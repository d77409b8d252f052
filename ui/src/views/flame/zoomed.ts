// The frame that a flame graph is zoomed to, as an address keeps it, and its row in the graph that is shown. A node of the tree is
// one path from the root, whatever time is picked, and is drawn on the axis; a graph from the leaves has no nodes, and neither
// has a frame that only another recording has. They are known by their path.

import { pathsOf } from "../../charts/flame_paths.ts";
import type { FlameRows } from "../../data/source.ts";
import type { ZoomedFrame } from "../../state/view_state.ts";

/** So much of a name is kept in the address. */
const NAME_MAX = 300;

/** What is zoomed to with a row; nothing with the whole. */
export function frameOf(rows: FlameRows, row: number, isInverted: boolean): ZoomedFrame | null {
  if (row <= 0) return null;
  const [node, name] = [rows.node[row], rows.name[row].slice(0, NAME_MAX)];
  const hasNode = !isInverted && node !== rows.node[0];
  return hasNode ? { node, name } : { path: pathsOf(rows)[row].toString(16), name };
}

/** The row of what is zoomed to, 0 where there is none. */
export function rowOf(rows: FlameRows, zoom: ZoomedFrame | null, isInverted: boolean): number {
  if (zoom === null) return 0;
  if ("path" in zoom) return Math.max(pathsOf(rows).indexOf(Number.parseInt(zoom.path, 16)), 0);
  return isInverted ? 0 : Math.max(rows.node.indexOf(zoom.node), 0);
}
