// The details of a span: a JSON object or nothing.

/** The details by key; nothing if they are empty or damaged. */
export function parsedDetail(detail: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
