// The zoomed frame of a flame graph, as an address stores it, and its row in the displayed graph. A node of the tree is
// one path from the root for any picked time, and is drawn on the axis. An inverted graph has no nodes, and neither
// has a frame that only another recording has. These are identified by their path.

import { pathsOf } from "../../charts/flame_paths.ts";
import type { FlameRows } from "../../data/source.ts";
import type { ZoomedFrame } from "../../state/view_state.ts";

/** The address keeps this many characters of a name. */
const NAME_MAX = 300;

/** The zoomed frame of a row; `null` for the root. */
export function frameOf(rows: FlameRows, row: number, isInverted: boolean): ZoomedFrame | null {
  if (row <= 0) return null;
  const [node, name] = [rows.node[row], rows.name[row].slice(0, NAME_MAX)];
  const hasNode = !isInverted && node !== rows.node[0];
  return hasNode ? { node, name } : { path: pathsOf(rows)[row].toString(16), name };
}

/** The row of the zoomed frame; 0 without one. */
export function rowOf(rows: FlameRows, zoom: ZoomedFrame | null, isInverted: boolean): number {
  if (zoom === null) return 0;
  if ("path" in zoom) return Math.max(pathsOf(rows).indexOf(Number.parseInt(zoom.path, 16)), 0);
  return isInverted ? 0 : Math.max(rows.node.indexOf(zoom.node), 0);
}
