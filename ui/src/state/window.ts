// Moving and zooming the time that the lanes show. Pure: a window in, a window out.

import { type Interval, lengthOf, type Nanoseconds } from "../base/quantities.ts";

/** The closest look: a microsecond is what the sources can tell apart. */
const SHORTEST: Nanoseconds = 1_000;

/** Zooms by a factor (below 1: closer) and leaves `at` where it is. */
export function zoomed(window: Interval, at: Nanoseconds, factor: number, limits: Interval): Interval {
  const length = Math.min(Math.max(lengthOf(window) * factor, SHORTEST), lengthOf(limits));
  const before = (at - window.from) / lengthOf(window);
  return within({ from: at - before * length, to: at + (1 - before) * length }, limits);
}

/** Moves by a part of its length. */
export function moved(window: Interval, by: Nanoseconds, limits: Interval): Interval {
  return within({ from: window.from + by, to: window.to + by }, limits);
}

/** The window inside the limits, as long as it was if that is possible. */
export function within(window: Interval, limits: Interval): Interval {
  const length = Math.min(lengthOf(window), lengthOf(limits));
  const from = Math.min(Math.max(window.from, limits.from), limits.to - length);
  return { from, to: from + length };
}

/** The window with some room on both sides: something selected is looked at with its surroundings. */
export function around(interval: Interval, limits: Interval, room = 0.15): Interval {
  const margin = lengthOf(interval) * room;
  return within({ from: interval.from - margin, to: interval.to + margin }, limits);
}

/** Of some times the first that begins after the picked one, or after an instant where none is picked. */
export function nextTime(times: readonly Interval[], picked: Interval | null, at: Nanoseconds): Interval | null {
  const after = times.filter(({ from }) => from > (picked?.from ?? at));
  return after.reduce<Interval | null>((first, time) => (first && first.from <= time.from ? first : time), null);
}

/** Likewise the last one before. */
export function previousTime(times: readonly Interval[], picked: Interval | null, at: Nanoseconds): Interval | null {
  const before = times.filter(({ from }) => from < (picked?.from ?? at));
  return before.reduce<Interval | null>((last, time) => (last && last.from >= time.from ? last : time), null);
}

/** The time with its end moved; an instant becomes the time to it. `null` if nothing is left of it. */
export function stretched({ from, to }: Interval, by: Nanoseconds, limits: Interval): Interval | null {
  const end = Math.min(Math.max(to + by, limits.from), limits.to);
  if (to > from) return end > from ? { from, to: end } : null;
  return end === from ? null : { from: Math.min(from, end), to: Math.max(from, end) };
}

/** Intervals as one: from the first to the last if most of that belongs to them, else the longest. */
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
 * The time to ask a source for so that a window can be moved and zoomed a little before anything has to be asked
 * again: whole steps around it, so that the same question serves many windows.
 */
export function coverFor(window: Interval, limits: Interval): Interval {
  const step = 2 ** Math.ceil(Math.log2(lengthOf(window))) / 2;
  return {
    from: Math.max((Math.floor(window.from / step) - 1) * step, limits.from),
    to: Math.min((Math.ceil(window.to / step) + 1) * step, limits.to),
  };
}
