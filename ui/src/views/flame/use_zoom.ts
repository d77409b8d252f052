// The row that the flame graph is zoomed to. What is zoomed to is a part of the state: it stays while other times are picked, both
// graphs of a pair show it, and Back undoes it.

import { useMemo } from "preact/hooks";
import type { FlameLayout } from "../../charts/flame_layout.ts";
import { update, view } from "../../state/store.ts";
import { frameOf, rowOf } from "./zoomed.ts";

/** The row that is zoomed to, 0 for all, and how to zoom to another. */
export function useZoom(flame: FlameLayout | null): [row: number, zoomTo: (row: number) => void] {
  const { zoom, inverted } = view.value;
  const rows = flame?.rows;
  const row = useMemo(() => (rows ? rowOf(rows, zoom, inverted) : 0), [rows, zoom, inverted]);
  return [row, (next) => rows && update({ zoom: frameOf(rows, next, inverted) })];
}
