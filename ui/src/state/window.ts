// Moves and zooms the time that the lanes show. Pure: a window in, a window out.

import { type Interval, lengthOf, type Nanoseconds } from "../base/quantities.ts";

/** The smallest window: the sources have a resolution of a microsecond. */
const SHORTEST: Nanoseconds = 1_000;

/** Zooms by a factor (below 1: closer) and keeps `at` in place. */
export function zoomed(window: Interval, at: Nanoseconds, factor: number, limits: Interval): Interval {
  const length = Math.min(Math.max(lengthOf(window) * factor, SHORTEST), lengthOf(limits));
  const before = (at - window.from) / lengthOf(window);
  return within({ from: at - before * length, to: at + (1 - before) * length }, limits);
}

/** Moves the window by a part of its length. */
export function moved(window: Interval, by: Nanoseconds, limits: Interval): Interval {
  return within({ from: window.from + by, to: window.to + by }, limits);
}

/** The window moved inside the limits. It keeps its length if possible. */
export function within(window: Interval, limits: Interval): Interval {
  const length = Math.min(lengthOf(window), lengthOf(limits));
  const from = Math.min(Math.max(window.from, limits.from), limits.to - length);
  return { from, to: from + length };
}

/** The window with a margin on both sides, to show the surroundings of a selection. */
export function around(interval: Interval, limits: Interval, room = 0.15): Interval {
  const margin = lengthOf(interval) * room;
  return within({ from: interval.from - margin, to: interval.to + margin }, limits);
}

/** The first of some times that begins after the picked time, or after an instant if none is picked. */
export function nextTime(times: readonly Interval[], picked: Interval | null, at: Nanoseconds): Interval | null {
  const after = times.filter(({ from }) => from > (picked?.from ?? at));
  return after.reduce<Interval | null>((first, time) => (first && first.from <= time.from ? first : time), null);
}

/** The same, but the last one before. */
export function previousTime(times: readonly Interval[], picked: Interval | null, at: Nanoseconds): Interval | null {
  const before = times.filter(({ from }) => from < (picked?.from ?? at));
  return before.reduce<Interval | null>((last, time) => (last && last.from >= time.from ? last : time), null);
}

/** The time with its end moved. An instant becomes the time up to the new end. `null` if the result is empty. */
export function stretched({ from, to }: Interval, by: Nanoseconds, limits: Interval): Interval | null {
  const end = Math.min(Math.max(to + by, limits.from), limits.to);
  if (to > from) return end > from ? { from, to: end } : null;
  return end === from ? null : { from: Math.min(from, end), to: Math.max(from, end) };
}

/** Several intervals as one: from the first to the last if they cover most of that, else the longest. */
export function mainStretch(intervals: readonly Interval[]): Interval | null {
  if (intervals.length === 0) return null;
  const hull = {
    from: Math.min(...intervals.map(({ from }) => from)),
    to: Math.max(...intervals.map(({ to }) => to)),
  };
  const together = intervals.reduce((sum, interval) => sum + lengthOf(interval), 0);
  if (together >= lengthOf(hull) / 2) return hull;
  return intervals.reduce((longest, interval) => (lengthOf(interval) > lengthOf(longest) ? interval : longest));
}

/**
 * The time to request from a source, so that a window can be moved and zoomed a little before another request is
 * needed: whole steps around the window, so that many windows share a request.
 */
export function coverFor(window: Interval, limits: Interval): Interval {
  const step = 2 ** Math.ceil(Math.log2(lengthOf(window))) / 2;
  return {
    from: Math.max((Math.floor(window.from / step) - 1) * step, limits.from),
    to: Math.min((Math.ceil(window.to / step) + 1) * step, limits.to),
  };
}
