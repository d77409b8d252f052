// The tip for the cell under the pointer.

import type { JSX } from "preact";
import { eventAmount, share } from "../../base/numbers.ts";
import type { Interval, Nanoseconds } from "../../base/quantities.ts";
import { clean, shorten, spaced } from "../../base/text.ts";
import { LEAST_KNOWN } from "../../charts/heat_lane.ts";
import type { Thread } from "../../data/overview.ts";
import type { Heat } from "../../data/source.ts";
import { event, heatOf, limits, overview } from "../../state/store.ts";
import { Tip } from "../../widgets/controls.tsx";
import type { Row } from "./rows.ts";
import type { Answered } from "./use_heat.ts";

export interface Hovered {
  row: Row | undefined;
  at: Nanoseconds;
  x: number;
  y: number;
}

/** States with a smaller visible part are only named in the tip. */
const NOTABLE = 0.005;

/** The states that have enough cells to be in the legend. */
export function notableStates(heat: Heat): Set<number> {
  const sums = new Map<number, number>();
  let whole = 0;
  for (let cell = 0; cell < heat.value.length; cell += 1) {
    if (heat.known && heat.known[cell] < LEAST_KNOWN) continue;
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
  const life = lifeOf(row.thread);
  if (cell < 0 && (heatOf.value !== "state" || at < life.from || at >= life.to)) return null;
  return (
    <Tip x={x} y={y}>
      <strong>{shorten(row.thread.name, 80)}</strong>
      <br />
      {heatOf.value === "state" ? stateAt(heat, cell) : eventAmount(heat.value[cell], event.value?.unit ?? "samples")}
      <Sources thread={row.thread} />
    </Tip>
  );
}

/** What is known about a cell, and how much is unknown. */
function stateAt({ state, value, known }: Heat, cell: number): string {
  if (cell < 0) return "nothing is known of it here";
  const unknown = 1 - (known?.[cell] ?? 1);
  const told = `${overview.value?.states[state[cell]]?.title ?? "unknown"}, ${share(value[cell])}`;
  return unknown < NOTABLE ? told : `${told}; ${share(unknown)} is not known`;
}

/** When a thread existed and was observed. */
export function lifeOf({ from, to }: Thread): Interval {
  const all = limits.value;
  return { from: Math.max(from ?? all.from, all.from), to: Math.min(to ?? all.to, all.to) };
}

/** The sources of a thread's data. */
function Sources({ thread }: { thread: Thread }): JSX.Element | null {
  const sources = sourcesOf(thread);
  if (sources === "") return null;
  return (
    <>
      <br />
      <span class="faint">{sources}</span>
    </>
  );
}

export function sourcesOf({ sources }: Thread): string {
  return sources && sources.length > 0 ? clean(`from ${sources.map(spaced).join(", ")}`) : "";
}
