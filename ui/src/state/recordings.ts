// The recordings that are served, by name.

import { clean } from "../base/text.ts";
import { originOf, timeOfDay, type Zone } from "../base/time.ts";
import type { RecordingLine } from "../data/overview.ts";
import { useAnswer } from "./answer.ts";
import { library } from "./store.ts";

const NONE: readonly RecordingLine[] = [];

/** All of them; none in a file, which is but one. */
export function useRecordings(isAsked = true): readonly RecordingLine[] {
  const recordings = library.value;
  const question = isAsked && recordings?.many ? "recordings" : null;
  return useAnswer(question, () => recordings?.recordings() ?? Promise.resolve([])).value ?? NONE;
}

/** What one is called: several of one name are told apart by when they began. */
export function nameOf(lines: readonly RecordingLine[], id: number, zone: Zone): string {
  const line = lines.find((one) => one.id === id);
  if (!line) return `recording ${id}`;
  const isOnly = lines.every((one) => one === line || one.name !== line.name);
  const began = isOnly || line.from_ns === null ? "" : `, ${timeOfDay(originOf(line.from_ns), 0, zone)}`;
  return `${clean(line.name, 60)}${began}`;
}
