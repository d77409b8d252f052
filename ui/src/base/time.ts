// Wall-clock time of instants that are relative to an origin. The origin is a full second.

import type { EpochMilliseconds, Nanoseconds } from "./quantities.ts";

/** Which clock people read. */
export type Zone = "utc" | "local";

/** The milliseconds of an origin that is given as a string of nanoseconds, because JSON has no number that large. */
export function originOf(digits: string): EpochMilliseconds {
  return Number(BigInt(digits) / 1_000_000n);
}

/** How many digits after the second distinguish two instants that are `step` apart. */
export function decimalsFor(step: Nanoseconds): number {
  if (step >= 1e9) return 0;
  return Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
}

/** Time of day with the wanted number of decimals. */
export function timeOfDay(origin: EpochMilliseconds, at: Nanoseconds, zone: Zone, decimals = 0): string {
  const seconds = Math.floor(at / 1e9);
  const date = new Date(origin + seconds * 1000);
  const [hours, minutes, second] =
    zone === "utc"
      ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
      : [date.getHours(), date.getMinutes(), date.getSeconds()];
  const clock = `${two(hours)}:${two(minutes)}:${two(second)}`;
  if (decimals === 0) return clock;
  const fraction = Math.floor(at - seconds * 1e9)
    .toString()
    .padStart(9, "0");
  return `${clock}.${fraction.slice(0, decimals)}`;
}

/** The day, as ISO 8601 writes it. */
export function day(origin: EpochMilliseconds, at: Nanoseconds, zone: Zone): string {
  const date = new Date(origin + Math.floor(at / 1e9) * 1000);
  return zone === "utc"
    ? date.toISOString().slice(0, 10)
    : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The day and the time of day, to the second. */
export function dayAndTime(origin: EpochMilliseconds, zone: Zone): string {
  return `${day(origin, 0, zone)} ${timeOfDay(origin, 0, zone)}`;
}

/** Name of the zone at that time, such as `UTC` or `UTC+02:00`. */
export function zoneName(origin: EpochMilliseconds, zone: Zone): string {
  const offset = zone === "utc" ? 0 : zoneOffsetMinutes(origin);
  if (offset === 0) return "UTC";
  const size = Math.abs(offset);
  return `UTC${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** The time since midnight of the displayed clock at the origin. Ticks are at full steps of that clock. */
export function sinceMidnight(origin: EpochMilliseconds, zone: Zone): Nanoseconds {
  const shift = zone === "utc" ? 0 : zoneOffsetMinutes(origin) * 60_000;
  return ((origin + shift) % 86_400_000) * 1e6;
}

function zoneOffsetMinutes(origin: EpochMilliseconds): number {
  return -new Date(origin).getTimezoneOffset();
}

function two(number: number): string {
  return number.toString().padStart(2, "0");
}
