// The time axis. Everything on it shares the window, the bands of slow time and the picked time.

import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { CssPixels, Interval, Nanoseconds } from "../base/quantities.ts";
import { clean } from "../base/text.ts";
import { decimalsFor, timeOfDay } from "../base/time.ts";
import { goTo, origin, picked, plotWidth, pointed, shownWindow, slow, worst, zone } from "../state/store.ts";
import { viewsAt } from "../views/all.ts";
import { Guarded } from "../widgets/guarded.tsx";
import { onDoubleClick, onPointerDown, onWheel } from "./gestures.ts";
import { Ruler } from "./ruler.tsx";
import { TimeControls } from "./time_controls.tsx";

const isMeasured = computed(() => plotWidth.value > 0);

export function TimePane(): JSX.Element {
  const pane = useRef<HTMLElement>(null);
  const plot = useRef<HTMLDivElement>(null);
  const box = (): DOMRect => plot.current?.getBoundingClientRect() ?? new DOMRect();
  useWheel(pane, box);
  useLayoutEffect(() => {
    const measure = (): void => {
      plotWidth.value = Math.max(plot.current?.clientWidth ?? 0, 1);
    };
    const observer = new ResizeObserver(measure);
    if (plot.current) observer.observe(plot.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return (
    <section
      class="time"
      ref={pane}
      aria-label="Time axis"
      onPointerMove={(event) => point(event, box())}
      onDblClick={(event) => onDoubleClick(event, box())}
      onPointerLeave={() => {
        pointed.value = null;
      }}
    >
      <div class="time-head">
        <TimeControls />
        <div class="plot" ref={plot} onPointerDown={(event) => onPointerDown(event, box())}>
          <Ruler />
          <Flags />
        </div>
      </div>
      <div class="time-body" onPointerDown={(event) => isOnPlot(event) && onPointerDown(event, box())}>
        <div class="time-rows">
          {/* Lanes request as many columns as fit the width, so they wait until it is known. */}
          {isMeasured.value &&
            viewsAt("time").map(({ id, title, Component }) => (
              <Guarded key={id} title={title}>
                <Component />
              </Guarded>
            ))}
          <div class="overlay" aria-hidden="true">
            <Bands />
            <Picked />
            <Poles />
            <Crosshair />
          </div>
        </div>
      </div>
    </section>
  );
}

/** Labels and controls next to the plots handle their own clicks. */
function isOnPlot(event: PointerEvent): boolean {
  return (event.target as HTMLElement).closest(".plot") !== null;
}

function point(event: PointerEvent, box: DOMRect): void {
  const window = shownWindow.peek();
  const part = (event.clientX - box.left) / box.width;
  pointed.value = part >= 0 && part <= 1 ? window.from + part * (window.to - window.from) : null;
}

/** Wheel listeners are added by hand, because the framework's cannot prevent the page from scrolling. */
function useWheel(pane: { current: HTMLElement | null }, box: () => DOMRect): void {
  useEffect(() => {
    const element = pane.current;
    const handle = (event: WheelEvent): void => {
      const isOnRuler = (event.target as HTMLElement).closest(".time-head") !== null;
      if (onWheel(event, box(), isOnRuler)) event.preventDefault();
    };
    element?.addEventListener("wheel", handle, { passive: false });
    return () => element?.removeEventListener("wheel", handle);
  });
}

/** The left edge and the width of a time in the window, in percent. */
export function placeOf({ from, to }: Interval): { left: string; width: string } {
  const window = shownWindow.value;
  const length = window.to - window.from;
  const left = Math.max((from - window.from) / length, -0.01);
  const right = Math.min((to - window.from) / length, 1.01);
  return { left: `${left * 100}%`, width: `${Math.max(right - left, 0) * 100}%` };
}

function isInSight({ from, to }: Interval): boolean {
  return from < shownWindow.value.to && to > shownWindow.value.from;
}

function Bands(): JSX.Element {
  return (
    <>
      {slow.value.filter(isInSight).map((interval) => (
        <div key={interval.from} class="band" style={placeOf(interval)} />
      ))}
    </>
  );
}

function Picked(): JSX.Element | null {
  const selection = picked.value;
  return selection && isInSight(selection) ? <div class="picked" style={placeOf(selection)} /> : null;
}

/** The worst instants of the open cause, on the axis. */
function Flags(): JSX.Element {
  const [start, clock] = [origin.value, zone.value];
  const places = flagPlaces(worst.value.map(({ from }) => from));
  return (
    <>
      {worst.value.map((one, index) =>
        isInSight(one) ? (
          <button
            key={one.from}
            type="button"
            class="flag"
            style={{ left: `${places[index]}px` }}
            title={`${timeOfDay(start, one.from, clock, 1)} ${clean(one.says, 300)}`}
            onPointerDown={(event) => event.stopPropagation()}
            onClick={() => goTo(one)}
          >
            <span class="hidden">worst instant </span>
            {index + 1}
          </button>
        ) : null,
      )}
    </>
  );
}

const FLAG_WIDTH: CssPixels = 16;

/** The positions of flags: at their instant, or next to a flag that is too close. */
function flagPlaces(instants: readonly Nanoseconds[]): CssPixels[] {
  const { from, to } = shownWindow.value;
  const order = [...instants.keys()].sort((a, b) => instants[a] - instants[b]);
  const places: CssPixels[] = [];
  let free = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    places[index] = Math.max(((instants[index] - from) / (to - from)) * plotWidth.value, free);
    free = places[index] + FLAG_WIDTH;
  }
  return places;
}

/** The poles of the flags, through all lanes. */
function Poles(): JSX.Element {
  return (
    <>
      {worst.value.filter(isInSight).map((one) => (
        <div key={one.from} class="pole" style={placeOf(one)} />
      ))}
    </>
  );
}

function Crosshair(): JSX.Element | null {
  const at = pointed.value;
  if (at === null) return null;
  const window = shownWindow.value;
  const decimals = decimalsFor((window.to - window.from) / plotWidth.value);
  return (
    <div class="crosshair" style={{ left: placeOf({ from: at, to: at }).left }}>
      <time>{timeOfDay(origin.value, at, zone.value, decimals)}</time>
    </div>
  );
}
