import { expect, test } from "vitest";
import type { RecordingLine } from "../data/overview.ts";
import { nameOf } from "./recordings.ts";

function line(id: number, name: string, from_ns: string | null): RecordingLine {
  return { id, name, from_ns } as RecordingLine;
}

test("recordings of one name are told apart by their time", () => {
  const lines = [
    line(0, "a.fathom", "1700000000000000000"),
    line(1, "b.fathom", "1700000000000000000"),
    line(2, "b.fathom", "1700000060000000000"),
    line(3, "b.fathom", null),
  ];
  expect(lines.map(({ id }) => nameOf(lines, id, "utc"))).toEqual([
    "a.fathom",
    "b.fathom, 22:13:20",
    "b.fathom, 22:14:20",
    "b.fathom",
  ]);
  expect(nameOf(lines, 9, "utc")).toBe("recording 9");
});
