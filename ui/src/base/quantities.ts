// Types that say what a bare number means. Times are relative to the recording's origin unless a name says otherwise.

/** Nanoseconds: a length of time, or an instant relative to the origin of the recording. */
export type Nanoseconds = number;
/** Milliseconds since the Unix epoch. */
export type EpochMilliseconds = number;
/** CSS pixels, before the screen's own scaling. */
export type CssPixels = number;
/** Index into the threads of an overview; -1 is the whole process. */
export type ThreadIndex = number;

/** Half open: `to` is excluded. */
export interface Interval {
  from: Nanoseconds;
  to: Nanoseconds;
}

/** How long an interval is. */
export function lengthOf(interval: Interval): Nanoseconds {
  return interval.to - interval.from;
}

/** Whether two intervals are the same. */
export function sameInterval(a: Interval | null, b: Interval | null): boolean {
  return a === b || (a !== null && b !== null && a.from === b.from && a.to === b.to);
}
