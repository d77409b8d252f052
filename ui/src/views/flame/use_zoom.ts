// The zoomed row of the flame graph. The zoomed frame is a part of the state: it stays when another time is picked, both
// graphs of a pair show it, and Back undoes it.

import { useMemo } from "preact/hooks";
import type { FlameLayout } from "../../charts/flame_layout.ts";
import { update, view } from "../../state/store.ts";
import { frameOf, rowOf } from "./zoomed.ts";

/** The zoomed row (0: all), and a function that zooms to another. */
export function useZoom(flame: FlameLayout | null): [row: number, zoomTo: (row: number) => void] {
  const { zoom, inverted } = view.value;
  const rows = flame?.rows;
  const row = useMemo(() => (rows ? rowOf(rows, zoom, inverted) : 0), [rows, zoom, inverted]);
  return [row, (next) => rows && update({ zoom: frameOf(rows, next, inverted) })];
}
