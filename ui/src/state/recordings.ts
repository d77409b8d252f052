// The served recordings, by name.

import { useEffect, useState } from "preact/hooks";
import { clean } from "../base/text.ts";
import { originOf, timeOfDay, type Zone } from "../base/time.ts";
import type { RecordingLine } from "../data/overview.ts";
import { type Answer, useAnswer } from "./answer.ts";
import { library } from "./store.ts";

const NONE: readonly RecordingLine[] = [];

/** How often an incomplete list is requested again. */
const REFRESH_MS = 1_000;

/** All recordings; none in a single file, which has only one. */
export function useRecordings(isAsked = true): readonly RecordingLine[] {
  const recordings = library.value;
  const question = isAsked && recordings?.many ? "recordings" : null;
  return useAnswer(question, () => recordings?.recordings() ?? Promise.resolve([])).value ?? NONE;
}

/** All recordings, requested again while the server reads one after the other. */
export function useFillingList(): Answer<readonly RecordingLine[]> {
  const recordings = library.value;
  const [asked, setAsked] = useState(0);
  const question = recordings ? `recordings ${asked}` : null;
  const answer = useAnswer(question, () => recordings?.recordings() ?? Promise.resolve([]));
  useEffect(() => {
    if (!answer.value?.some(isUnread)) return;
    const timer = setTimeout(() => setAsked((times) => times + 1), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [answer.value]);
  return answer;
}

/** Whether the server has not read it yet. */
export function isUnread({ headline, error }: RecordingLine): boolean {
  return headline === null && error === null;
}

/** The name of a recording. Recordings with the same name also get their start time. */
export function nameOf(lines: readonly RecordingLine[], id: number, zone: Zone): string {
  const line = lines.find((one) => one.id === id);
  if (!line) return `recording ${id}`;
  const isOnly = lines.every((one) => one === line || one.name !== line.name);
  const began = isOnly || line.from_ns === null ? "" : `, ${timeOfDay(originOf(line.from_ns), 0, zone)}`;
  return `${clean(line.name, 60)}${began}`;
}
