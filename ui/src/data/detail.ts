// The details of a span, which are a JSON object or nothing.

/** What the details say by key; nothing when they are empty or damaged. */
export function parsedDetail(detail: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
