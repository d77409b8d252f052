// What the cell under the pointer says.

import type { JSX } from "preact";
import { eventAmount, share } from "../../base/numbers.ts";
import type { Nanoseconds } from "../../base/quantities.ts";
import { shorten } from "../../base/text.ts";
import type { Heat } from "../../data/source.ts";
import { event, heatOf, overview } from "../../state/store.ts";
import { Tip } from "../../widgets/controls.tsx";
import type { Row } from "./rows.ts";
import type { Answered } from "./use_heat.ts";

export interface Hovered {
  row: Row | undefined;
  at: Nanoseconds;
  x: number;
  y: number;
}

/** States with less of what is in sight are told by the tip alone. */
const NOTABLE = 0.005;

/** States that have enough of the cells to stand in the legend. */
export function notableStates(heat: Heat): Set<number> {
  const sums = new Map<number, number>();
  let whole = 0;
  for (let cell = 0; cell < heat.value.length; cell += 1) {
    whole += heat.value[cell];
    sums.set(heat.state[cell], (sums.get(heat.state[cell]) ?? 0) + heat.value[cell]);
  }
  return new Set([...sums].filter(([, sum]) => sum >= NOTABLE * whole).map(([state]) => state));
}

export function CellTip({ row, at, x, y, answered }: Hovered & { answered: Answered<Heat> }): JSX.Element | null {
  if (row?.kind !== "thread") return null;
  const { heat, from, to } = answered;
  const column = Math.floor(((at - from) / (to - from)) * heat.columns);
  const cell = heat.column.findIndex((one, index) => one === column && heat.thread[index] === row.thread.index);
  if (cell < 0) return null;
  const says =
    heatOf.value === "state"
      ? `${overview.value?.states[heat.state[cell]]?.title ?? "unknown"}, ${share(heat.value[cell])}`
      : eventAmount(heat.value[cell], event.value?.unit ?? "samples");
  return (
    <Tip x={x} y={y}>
      <strong>{shorten(row.thread.name, 80)}</strong>
      <br />
      {says}
    </Tip>
  );
}
