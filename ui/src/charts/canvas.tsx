// A canvas that knows its size, the screen's resolution and when to redraw.
//
// `draw` runs inside an effect. It is called again when a signal that it read changes, when the size changes, and when
// another function is passed. So a moving window redraws canvases without touching the rest of the page. A picture is drawn in the
// same frame that changes the page, not in the next one.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CssPixels } from "../base/quantities.ts";

export type Draw = (context: CanvasRenderingContext2D, width: CssPixels, height: CssPixels) => void;

interface Properties extends Omit<JSX.HTMLAttributes<HTMLCanvasElement>, "height" | "label"> {
  draw: Draw;
  height: CssPixels;
  /** What the picture shows, for screen readers. */
  label: string;
  tabIndex?: number;
}

export function Canvas({ draw, height, label, ...rest }: Properties): JSX.Element {
  const element = useRef<HTMLCanvasElement>(null);
  const [width] = useState(() => signal(0));
  useLayoutEffect(() => {
    const canvas = element.current;
    if (!canvas) return;
    const observer = new ResizeObserver(() => {
      width.value = canvas.clientWidth;
    });
    observer.observe(canvas);
    width.value = canvas.clientWidth;
    return () => observer.disconnect();
  }, [width]);
  useLayoutEffect(
    () =>
      effect(() => {
        if (element.current && width.value > 0) paint(element.current, width.value, height, draw);
      }),
    [draw, height, width],
  );
  return (
    <canvas ref={element} class="canvas" style={{ height: `${height}px` }} role="img" aria-label={label} {...rest} />
  );
}

function paint(canvas: HTMLCanvasElement, width: CssPixels, height: CssPixels, draw: Draw): void {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  draw(context, width, height);
}

/** The font of canvases: the page's own. */
export function font(size: CssPixels, weight = 400): string {
  return `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif`;
}
