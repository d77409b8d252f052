// Numbers for people: three significant digits and the unit that fits.
//
// The terminal prints the same figures by the same rules (crates/report, units.rs).
// Page and terminal must not differ, so ties round to even in both.

import type { Nanoseconds } from "./quantities.ts";

type Ladder = readonly (readonly [size: number, unit: string])[];

const DURATION: Ladder = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
];
/** Powers of 1024, as the JVM counts and prints them. */
const BYTES: Ladder = [
  [1, "bytes"],
  [1024, "KB"],
  [1_048_576, "MB"],
  [1_073_741_824, "GB"],
];

/** Units per second use the ladder of the unit they count. `ns/s` is the sum of the waits of several threads. */
const RATES: Record<string, Ladder> = { "bytes/s": BYTES, "ns/s": DURATION };

/** Units without steps, and how each is printed. */
const PLAIN: Record<string, (number: string) => string> = {
  count: () => "",
  "1/s": () => "/s",
  cores: (number) => (number === "1" ? "core" : "cores"),
  threads: (number) => (number === "1" ? "thread" : "threads"),
  times: () => "×",
};

/** Units for which a thousandth is negligible. */
const FEW = new Set(["cores", "threads", "times"]);

interface Amount {
  number: string;
  unit: string;
}

/** `value` in one of the units of an explanation's evidence; other units are printed unchanged. */
export function amount(value: number, unit: string): string {
  const { number, unit: name } = split(value, unit);
  return name === "" ? number : `${number} ${name}`;
}

/** A length of time. */
export function duration(value: Nanoseconds): string {
  return amount(value, "ns");
}

/** A number before and after. The unit is printed once if both share it. */
export function change(before: number, after: number, unit: string): string {
  const [old, now] = [split(before, unit), split(after, unit)];
  return old.unit === now.unit
    ? `${old.number} → ${amount(after, unit)}`
    : `${amount(before, unit)} → ${amount(after, unit)}`;
}

/** Weight of samples in the unit of their event. */
export function eventAmount(value: number, unit: string): string {
  return amount(value, unit === "samples" ? "count" : unit);
}

/** A part of a whole, such as `12 %`. */
export function share(ratio: number): string {
  return amount(ratio, "ratio");
}

function split(value: number, unit: string): Amount {
  if (!Number.isFinite(value)) return { number: "unknown", unit: "" };
  if (unit === "ns") return Math.abs(value) >= 60e9 ? { number: minutes(value), unit: "" } : climb(value, DURATION);
  if (unit === "bytes") return climb(value, BYTES);
  const whole = RATES[unit];
  if (whole) {
    const { number, unit: step } = climb(value, whole);
    return { number, unit: `${step}/s` };
  }
  if (unit === "ratio") return { number: percent(value), unit: "%" };
  const number = FEW.has(unit) ? few(value) : digits(value);
  return { number, unit: PLAIN[unit]?.(number) ?? unit };
}

/** Goes up the ladder to the last step that leaves at least 1, after rounding. */
function climb(value: number, ladder: Ladder): Amount {
  const step = ladder.findLast(([size]) => Math.abs(value) / size >= 0.9995) ?? ladder[0];
  return { number: digits(value / (step?.[0] ?? 1)), unit: step?.[1] ?? "" };
}

function minutes(value: Nanoseconds): string {
  const seconds = Math.round(Math.abs(value) / 1e9);
  const hours = seconds >= 3600;
  const big = Math.floor(seconds / (hours ? 3600 : 60));
  const small = hours ? Math.floor((seconds % 3600) / 60) : seconds % 60;
  const [bigName, smallName] = hours ? ["h", "min"] : ["min", "s"];
  const text = `${value < 0 ? "-" : ""}${grouped(big)} ${bigName}`;
  return small === 0 ? text : `${text} ${small} ${smallName}`;
}

function percent(ratio: number): string {
  const size = Math.abs(ratio) * 100;
  if (size === 0) return "0";
  if (size < 0.1) return "<0.1";
  return size < 9.95 ? trimmed(ratio * 100, 1) : grouped(awayFromZero(ratio * 100));
}

/** Values close to zero are printed without digits. */
function few(value: number): string {
  return value !== 0 && Math.abs(value) < 0.0005 ? "<0.001" : digits(value);
}

/** Three significant digits, without trailing zeros. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 99.95 || Number.isInteger(value)) return grouped(awayFromZero(value));
  if (size >= 9.995) return trimmed(value, 1);
  if (size >= 0.9995) return trimmed(value, 2);
  if (size >= 0.0005) return trimmed(value, 3);
  return value.toExponential(1);
}

function trimmed(value: number, decimals: number): string {
  const text = fixed(value, decimals);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/** Like `toFixed`, but ties round to even. */
function fixed(value: number, decimals: number): string {
  const scaled = Math.abs(value) * 10 ** decimals;
  const isTie = Number.isInteger(value * 2 ** (decimals + 1)) && scaled % 1 === 0.5;
  if (!isTie) return value.toFixed(decimals);
  const even = 2 * Math.round(scaled / 2);
  return `${value < 0 ? "-" : ""}${(even / 10 ** decimals).toFixed(decimals)}`;
}

function awayFromZero(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

/** A whole number with thousands separated; very large ones as a power of ten. */
function grouped(value: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential(2).replace("e+", "e");
  return Math.abs(value)
    .toFixed(0)
    .replace(/\B(?=(\d{3})+$)/g, ",")
    .replace(/^/, value < 0 ? "-" : "");
}

/** Whole percents with the same sum as the measured shares: the largest remainders are rounded up. */
export function wholePercents(shares: readonly number[]): number[] {
  const exact = shares.map((part) => Math.min(Math.max(part || 0, 0), 1) * 100);
  const percents = exact.map(Math.floor);
  const sum = Math.round(exact.reduce((total, part) => total + part, 0));
  const missing = sum - percents.reduce((total, part) => total + part, 0);
  const byRemainder = exact.map((_, index) => index).sort((a, b) => (exact[b] % 1) - (exact[a] % 1));
  for (const index of byRemainder.slice(0, Math.max(missing, 0))) percents[index] += 1;
  return percents;
}
