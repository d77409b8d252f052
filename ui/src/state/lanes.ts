// Operations on lanes. Each lane is drawn, pinned directly below the signals, folded to a strip, or hidden. The state has
// their keys in display order. Pure.

import type { ViewState } from "./view_state.ts";

type Lanes = Pick<ViewState, "lanes" | "pins" | "thin">;

/** Represents the empty list, because an empty list means that nothing was decided. */
const NONE = "none";

function without(keys: readonly string[], key: string): string[] {
  return keys.filter((other) => other !== key);
}

function decided(keys: readonly string[]): readonly string[] {
  const real = without(keys, NONE);
  return real.length > 0 ? real : [NONE];
}

export function isDrawn({ lanes, pins }: Lanes, key: string): boolean {
  return lanes.includes(key) || pins.includes(key);
}

/** Draws a lane below the others, or hides it. */
export function toggleLane(now: Lanes, key: string): Partial<ViewState> {
  if (!isDrawn(now, key)) return { lanes: decided([...now.lanes, key]) };
  return { lanes: decided(without(now.lanes, key)), pins: without(now.pins, key), thin: without(now.thin, key) };
}

/** Pins a lane, or unpins it. */
export function togglePin({ lanes, pins }: Lanes, key: string): Partial<ViewState> {
  if (!pins.includes(key)) return { pins: [...pins, key] };
  return { pins: without(pins, key), lanes: decided(lanes.includes(key) ? lanes : [key, ...lanes]) };
}

/** Folds a lane to a strip, or unfolds it. */
export function toggleThin({ thin }: Lanes, key: string): Partial<ViewState> {
  return { thin: thin.includes(key) ? without(thin, key) : [...thin, key] };
}

/** Moves a lane before another one, and pins it if that one is pinned. A pinned lane keeps its place among the others for later. */
export function moveBefore({ lanes, pins }: Lanes, key: string, other: string): Partial<ViewState> {
  if (key === other) return {};
  if (pins.includes(other)) return { pins: putBefore(pins, key, other) };
  return { pins: without(pins, key), lanes: putBefore(lanes, key, other) };
}

function putBefore(keys: readonly string[], key: string, other: string): string[] {
  const rest = without(keys, key);
  const at = rest.indexOf(other);
  return [...rest.slice(0, at), key, ...rest.slice(at)];
}
