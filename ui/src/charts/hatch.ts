// Unknown parts are hatched. A colour would claim something, and blank would mean that there was nothing.

import type { CssPixels, Interval } from "../base/quantities.ts";
import type { Palette } from "./palette.ts";
import type { TimeScale } from "./scale.ts";

const STEP: CssPixels = 6;

/** Hatches the part of a row that is unknown. */
export function drawUnknown(
  context: CanvasRenderingContext2D,
  time: Interval,
  scale: TimeScale,
  row: { top: CssPixels; height: CssPixels },
  palette: Palette,
): void {
  const left = Math.max(scale.x(time.from), 0);
  const right = Math.min(scale.x(time.to), scale.width);
  const pattern = patternOf(context, palette);
  if (right <= left || !pattern) return;
  context.fillStyle = pattern;
  context.fillRect(left, row.top, right - left, row.height);
}

let tile: { colour: string; canvas: OffscreenCanvas } | null = null;

function patternOf(context: CanvasRenderingContext2D, { hatch }: Palette): CanvasPattern | null {
  if (tile?.colour !== hatch) tile = { colour: hatch, canvas: tileOf(hatch) };
  return context.createPattern(tile.canvas, "repeat");
}

/** One step of the hatching. */
function tileOf(colour: string): OffscreenCanvas {
  const canvas = new OffscreenCanvas(STEP, STEP);
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (const shift of [-STEP, 0, STEP]) {
    context.moveTo(shift - 1, STEP + 1);
    context.lineTo(shift + STEP + 1, -1);
  }
  context.stroke();
  return canvas;
}
