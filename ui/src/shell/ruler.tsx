// The ruler of the time axis, and above it the whole recording with the shown part.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import type { CssPixels } from "../base/quantities.ts";
import { day, decimalsFor, sinceMidnight, timeOfDay } from "../base/time.ts";
import { Canvas, font } from "../charts/canvas.tsx";
import { type Palette, paletteFor } from "../charts/palette.ts";
import { stepFor, TimeScale, ticks } from "../charts/scale.ts";
import { isDark, safeColours } from "../state/appearance.ts";
import { limits, origin, picked, shownWindow, slow, zone } from "../state/store.ts";

const MAP_HEIGHT: CssPixels = 12;
const HEIGHT: CssPixels = 40;

export function Ruler(): JSX.Element {
  const draw = useCallback((context: CanvasRenderingContext2D, width: CssPixels) => {
    const palette = paletteFor(isDark.value, safeColours.value);
    drawMap(context, width, palette);
    drawTicks(context, width, palette);
  }, []);
  return <Canvas draw={draw} height={HEIGHT} label="Time; wheel zooms, drag picks a time, shift and drag moves" />;
}

/** The whole recording: slow times, the picked time, and the part that the lanes show. */
function drawMap(context: CanvasRenderingContext2D, width: CssPixels, palette: Palette): void {
  const scale = new TimeScale(limits.value, width);
  const bar = (from: number, to: number, colour: string, top: number, height: number): void => {
    context.fillStyle = colour;
    context.fillRect(scale.x(from), top, Math.max(scale.x(to) - scale.x(from), 2), height);
  };
  bar(scale.window.from, scale.window.to, palette.grid, 4, 4);
  for (const { from, to } of slow.value) bar(from, to, palette.pain, 4, 4);
  if (picked.value) bar(picked.value.from, picked.value.to, palette.accent, 9, 2);
  const { from, to } = shownWindow.value;
  if (to - from >= scale.window.to - scale.window.from) return;
  context.strokeStyle = palette.text;
  context.lineWidth = 1.5;
  context.strokeRect(scale.x(from), 1.5, Math.max(scale.x(to) - scale.x(from), 3), 9);
}

function drawTicks(context: CanvasRenderingContext2D, width: CssPixels, palette: Palette): void {
  const scale = new TimeScale(shownWindow.value, width);
  const [start, clock] = [origin.value, zone.value];
  let step = stepFor(scale, 70);
  const decimals = decimalsFor(step);
  if (decimals > 0) step = stepFor(scale, 62 + decimals * 8);
  context.font = font(11);
  context.textBaseline = "middle";
  context.fillStyle = palette.muted;
  context.strokeStyle = palette.faint;
  context.beginPath();
  for (const at of ticks(scale.window, step, sinceMidnight(start, clock))) {
    const x = Math.round(scale.x(at)) + 0.5;
    context.moveTo(x, HEIGHT - 6);
    context.lineTo(x, HEIGHT);
    const text = step >= 86400e9 ? day(start, at, clock) : timeOfDay(start, at, clock, decimals);
    if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, MAP_HEIGHT + 7);
  }
  context.stroke();
}
