// The typed details of a span as names and values. Units are derived from the names, as everywhere in a recording.

import { amount } from "../../base/numbers.ts";

/** The entries of a JSON object; nothing if the text is not an object. */
export function detailsOf(detail: string): [key: string, value: string][] {
  if (detail === "") return [];
  try {
    const parsed: unknown = JSON.parse(detail);
    if (typeof parsed !== "object" || parsed === null) return [["detail", detail]];
    return Object.entries(parsed).map(([key, value]) => named(key, value));
  } catch {
    return [["detail", detail]];
  }
}

function named(key: string, value: unknown): [string, string] {
  if (typeof value === "number") {
    if (key.endsWith("_ns")) return [key.slice(0, -"_ns".length), amount(value, "ns")];
    if (key.endsWith("bytes")) return [key.replace(/_bytes$/, ""), amount(value, "bytes")];
  }
  return [key, typeof value === "string" ? value : JSON.stringify(value)];
}
