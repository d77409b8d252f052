// Draws a flame graph as an icicle: the root on top, what it calls below.

import type { CssPixels } from "../base/quantities.ts";
import { clean } from "../base/text.ts";
import { font } from "./canvas.tsx";
import { type FlameLayout, type Matches, pathTo } from "./flame_layout.ts";
import { css, frameColour, inkOn, type Palette, UNKNOWN } from "./palette.ts";

export const FRAME_HEIGHT: CssPixels = 18;
/** Narrower frames are too small for a letter. */
const LETTER: CssPixels = 6.2;
/** A lower bound of the average width of a letter in a name. */
const NARROWEST: CssPixels = 3;

export interface FlamePicture {
  flame: FlameLayout;
  /** The frame that fills the width. */
  zoomed: number;
  matches: Matches;
  isSearching: boolean;
  /** Coloured by growth against the baseline instead of by layer. */
  isCompared: boolean;
  hovered: number;
}

export function drawFlame(
  context: CanvasRenderingContext2D,
  picture: FlamePicture,
  size: { width: CssPixels; top: CssPixels; bottom: CssPixels },
  palette: Palette,
): void {
  const { flame, zoomed } = picture;
  context.font = font(11.5);
  context.textBaseline = "middle";
  for (const row of pathTo(flame, zoomed)) drawFrame(context, picture, row, 0, size.width, palette);
  const scale = size.width / (flame.width[zoomed] || 1);
  const { depth } = flame.rows;
  for (let row = zoomed + 1; row < flame.end[zoomed]; row += 1) {
    const wide = flame.width[row] * scale;
    if (wide < 0.4) {
      // No frame below it is wider.
      row = flame.end[row] - 1;
      continue;
    }
    const top = depth[row] * FRAME_HEIGHT;
    if (top > size.bottom) {
      row = flame.end[row] - 1;
      continue;
    }
    if (top + FRAME_HEIGHT < size.top) continue;
    drawFrame(context, picture, row, (flame.x[row] - flame.x[zoomed]) * scale, wide, palette);
  }
}

function drawFrame(
  context: CanvasRenderingContext2D,
  picture: FlamePicture,
  row: number,
  left: CssPixels,
  width: CssPixels,
  palette: Palette,
): void {
  const { rows } = picture.flame;
  const top = rows.depth[row] * FRAME_HEIGHT;
  const isDimmed = picture.isSearching && picture.matches.rows[row] === 0;
  const isAbove = rows.depth[row] < rows.depth[picture.zoomed];
  context.globalAlpha = isDimmed ? 0.28 : isAbove ? 0.6 : 1;
  context.fillStyle = picture.isCompared ? growthColour(picture.flame, row, palette) : fillOf(picture, row, palette);
  context.fillRect(left, top, Math.max(width - (width > 3 ? 1 : 0), 0.4), FRAME_HEIGHT - 1);
  if (picture.isSearching && !isDimmed && width > 2) outline(context, left, top, width, palette.match);
  if (row === picture.hovered) outline(context, left, top, width, palette.text);
  if (width > LETTER * 3) drawName(context, picture, row, left, width, palette);
  context.globalAlpha = 1;
}

function fillOf({ flame: { rows } }: FlamePicture, row: number, palette: Palette): string {
  return row === 0
    ? css(UNKNOWN, palette, palette.dark ? -8 : 8)
    : frameColour(rows.kind[row], rows.name[row], palette);
}

function outline(context: CanvasRenderingContext2D, left: number, top: number, width: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, top + 0.75, Math.max(width - 2.5, 0.5), FRAME_HEIGHT - 2.5);
}

function drawName(
  context: CanvasRenderingContext2D,
  { flame: { rows }, isCompared }: FlamePicture,
  row: number,
  left: CssPixels,
  width: CssPixels,
  palette: Palette,
): void {
  const [from, room] = [Math.max(left, 0) + 4, width - 7];
  context.fillStyle = isCompared ? palette.text : inkOn(palette.frames[rows.kind[row]] ?? UNKNOWN, palette);
  const text = fitted(rows.name[row], room, (text) => context.measureText(text).width);
  context.fillText(text, from, rows.depth[row] * FRAME_HEIGHT + FRAME_HEIGHT / 2);
}

/** The part of a name that fits. It is measured, because letters differ in width. The end of a qualified name identifies it. */
export function fitted(name: string, room: CssPixels, widthOf: (text: string) => CssPixels): string {
  const safe = clean(name, 400);
  // Most names are far too long, so they need not be measured.
  const fits = (text: string): boolean => text.length * NARROWEST <= room && widthOf(text) <= room;
  if (fits(safe)) return safe;
  const parts = safe.split(".");
  const short = parts.length > 2 ? parts.slice(-2).join(".") : safe;
  if (fits(short)) return short;
  let letters = Math.min(Math.floor(room / LETTER), short.length - 1);
  while (letters > 1 && !fits(`${short.slice(0, letters)}…`)) letters -= 1;
  return `${short.slice(0, Math.max(letters, 1))}…`;
}

/** Red for growth, blue for shrinking. The strength is the change as a part of the whole. */
function growthColour({ rows }: FlameLayout, row: number, palette: Palette): string {
  const [now, before] = [rows.total[row], rows.base[row] ?? 0];
  const whole = Math.max(rows.total[0], rows.base[0] ?? 0) || 1;
  const change = (now - before) / whole;
  const strength = Math.min(Math.sqrt(Math.abs(change)) * 1.6, 1);
  if (strength < 0.03) return css([220, 6, 80], palette, palette.dark ? -36 : 4);
  return css(
    change > 0 ? palette.more : palette.less,
    palette,
    palette.dark ? 0 : (1 - strength) * 22,
    0.25 + 0.75 * strength,
  );
}
