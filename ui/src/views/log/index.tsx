// The log lines of the picked time.

import type { JSX } from "preact";
import { counted, grouped, spaced } from "../../base/text.ts";
import { decimalsFor, timeOfDay } from "../../base/time.ts";
import { NO_TIME } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { origin, overview, selection, source, update, view, zone } from "../../state/store.ts";
import { Note, Search } from "../../widgets/controls.tsx";
import { Name, Sentence } from "../../widgets/text.tsx";
import type { View } from "../view.ts";

const MOST_LINES = 1_000;

function Log(): JSX.Element {
  const from = source.value;
  const { from: begin, to } = selection.value;
  const query = { from: begin, to, find: view.value.find, limit: MOST_LINES };
  const answer = useAnswer(
    from ? JSON.stringify(query) : null,
    (signal) => (from ? from.log(query, signal) : Promise.reject(new Error("no recording"))),
    80,
  );
  const lines = answer.value ?? [];
  return (
    <div class="log-view">
      <div class="toolbar">
        <Search label="Find lines" value={query.find} onInput={(text) => update({ find: text })} />
        <span class="muted">
          {lines.length === MOST_LINES ? `the first ${grouped(MOST_LINES)} lines` : counted(lines.length, "line")}
          <LeftOutNote />
        </span>
      </div>
      {answer.error && <Note>{answer.error}</Note>}
      {answer.value && lines.length === 0 && <Note>No such lines in what is picked.</Note>}
      <table class="data log">
        <tbody>
          {lines.map((line, index) => (
            <tr key={index}>
              <td class="number">
                {line.t === NO_TIME ? "" : timeOfDay(origin.value, line.t, zone.value, decimalsFor(1e6))}
              </td>
              <td class="muted">{spaced(line.class)}</td>
              <td>
                <Sentence text={line.text} />
              </td>
              <td class="faint">
                <Name text={line.source} longest={24} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The lines that a file left out. */
function LeftOutNote(): JSX.Element | null {
  const { logs = 0, logs_held: held = logs } = overview.value ?? {};
  if (held >= logs) return null;
  return (
    <>
      ; this file holds the first {grouped(held)} of {grouped(logs)}
    </>
  );
}

export default {
  id: "log",
  title: "Log",
  place: "detail",
  order: 50,
  isUseful: ({ logs }) => logs !== 0,
  Component: Log,
} satisfies View;
