// One request: what its thread did until it was answered. It is chosen in the picture of all requests, or here among the longest.

import type { JSX } from "preact";
import { duration } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import { timeOfDay } from "../../base/time.ts";
import type { SpanRow } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { origin, overview, port, selection, source, update, view, zone } from "../../state/store.ts";
import type { PickedRequest } from "../../state/view_state.ts";
import { Note } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import type { View } from "../view.ts";
import { longestOf, requestOf, sameRequest } from "./picked.ts";
import { Waterfall } from "./waterfall.tsx";

/** The number of requests to choose from. */
const LISTED = 12;

function Request(): JSX.Element {
  const rows = useLongest();
  const shown = view.value.request ?? (rows?.[0] ? requestOf(rows[0]) : null);
  return (
    <div class="request-view">
      {shown && <Waterfall request={shown} />}
      {rows && rows.length > 0 && <Longest rows={rows} shown={shown} />}
      {rows?.length === 0 && <Note>No request in what is picked.</Note>}
    </div>
  );
}

/** The longest requests of the picked time. */
function useLongest(): readonly SpanRow[] | null {
  const from = source.value;
  const { from: begin, to } = selection.value;
  const asked = { time: { from: begin, to }, port: port.value };
  const answer = useAnswer(
    from ? JSON.stringify(asked) : null,
    (signal) => (from ? longestOf(from, asked, signal) : Promise.reject(new Error("no recording"))),
    80,
  );
  return answer.value?.slice(0, LISTED) ?? null;
}

function Longest({ rows, shown }: { rows: readonly SpanRow[]; shown: PickedRequest | null }): JSX.Element {
  return (
    <table class="data requests" aria-label="Longest requests">
      <thead>
        <tr>
          <th scope="col" class="number">
            began
          </th>
          <th scope="col" class="number">
            took
          </th>
          <th scope="col">{counted(rows.length, "longest request")}</th>
          <th scope="col">thread</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={`${row.t} ${row.thread}`}
            class={sameRequest(requestOf(row), shown) ? "picked-row" : ""}
            onClick={() => update({ request: requestOf(row) })}
          >
            <td class="number">
              <button type="button" class="row-button">
                {timeOfDay(origin.value, row.t, zone.value, 3)}
              </button>
            </td>
            <td class="number">{duration(row.duration)}</td>
            <td>
              <Name text={row.name} longest={60} />
            </td>
            <td class="muted">
              <Name text={overview.value?.threads[row.thread]?.name ?? "not recorded"} longest={40} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export default {
  id: "request",
  title: "Requests",
  place: "detail",
  order: 35,
  isUseful: ({ lanes }) => lanes.some(({ kind }) => kind === "latency"),
  Component: Request,
} satisfies View;
