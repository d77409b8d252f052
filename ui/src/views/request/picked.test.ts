import { expect, test } from "vitest";
import type { Source, SpanRow, TableQuery } from "../../data/source.ts";
import { longestOf, requestAt, requestOf, rowOf } from "./picked.ts";

function request(t: number, duration: number, name: string, thread = 1): SpanRow {
  return { t, duration, thread, kind: "request", name, stack: 0, kernelStack: 0, detail: "" };
}

/** A recording of some requests. Like a search, it finds words anywhere in a text. */
function recordingOf(rows: readonly SpanRow[]): { source: Source; asked: TableQuery[] } {
  const asked: TableQuery[] = [];
  const table = async (query: TableQuery) => {
    asked.push(query);
    const isThere = (row: SpanRow): boolean =>
      row.t < query.to && row.t + row.duration > query.from && row.name.includes(query.find);
    const found = rows
      .filter(isThere)
      .filter(({ thread }) => query.threads === "all" || query.threads.includes(thread))
      .sort((a, b) => (query.sort === "time" ? b.t - a.t : b.duration - a.duration));
    return { rows: found.slice(0, query.limit), total: found.length, totalDuration: 0, held: 0, isPart: false };
  };
  return { source: { table } as unknown as Source, asked };
}

test("requests are those of the port that is looked at, not of one whose name has it in it", async () => {
  const { source } = recordingOf([request(10, 50, ":8080"), request(12, 20, ":80"), request(0, 90, ":180")]);
  expect(await requestAt(source, { from: 9, to: 15 }, { from: 1, to: 99 }, ":80")).toEqual({
    from: 12,
    to: 32,
    thread: 1,
  });
  const longest = await longestOf(source, { time: { from: 0, to: 99 }, port: ":80" });
  expect(longest.map(({ t }) => t)).toEqual([12]);
  // A latency file has no ports.
  expect(await longestOf(source, { time: { from: 0, to: 99 }, port: "" })).toHaveLength(3);
});

test("one that was under way before is not the one that was clicked", async () => {
  const { source } = recordingOf([request(0, 90, ""), request(10, 5, "")]);
  expect(await requestAt(source, { from: 9, to: 12 }, { from: 0, to: 99 }, "")).toEqual({
    from: 10,
    to: 15,
    thread: 1,
  });
  expect(await requestAt(source, { from: 20, to: 30 }, { from: 0, to: 99 }, "")).toBeNull();
});

test("what is looked into is asked for by itself, however many are longer", async () => {
  const short = { ...request(500, 3, ":80", 7), detail: '{"unread_ns":1}' };
  const others = Array.from({ length: 30 }, (_, index) => request(index * 10, 900, ":80", 7));
  const { source } = recordingOf([...others, short, request(500, 3, ":80", 8)]);
  expect(await rowOf(source, requestOf(short))).toEqual(short);
  expect(await rowOf(source, { ...requestOf(short), thread: -1 })).toBeNull();
});
