// Requests to devices by stage: the typical and the longest time of each stage, in the picked time and in the quiet time.

import type { JSX } from "preact";
import { duration } from "../../base/numbers.ts";
import type { Interval } from "../../base/quantities.ts";
import { counted } from "../../base/text.ts";
import { type Quantiles, type Requests, requestsOf, STAGES, WHOLE } from "../../charts/stages.ts";
import type { SpanRow, TableQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { overview, selection, source } from "../../state/store.ts";
import { Note } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import type { View } from "../view.ts";

const KIND = "block_request";
/** The maximum number of requests: the longest are kept. */
const MOST = 20_000;

function Stages(): JSX.Element {
  const { from, to } = selection.value;
  const picked = useRequests([{ from, to }]);
  const quiet = useRequests(overview.value?.baseline ?? []);
  if (!picked) return <Note>Asking …</Note>;
  const names = [...new Set([...picked, ...(quiet ?? [])].map(({ name }) => name))];
  if (names.length === 0) return <Note>No request to a device was recorded by itself in what is picked.</Note>;
  return (
    <div class="stages-view">
      {names.map((name) => (
        <Device
          key={name}
          name={name}
          now={picked.find((one) => one.name === name)}
          before={quiet?.find((one) => one.name === name)}
        />
      ))}
      <p class="muted">Of requests that were recorded one by one; the lanes count all of them.</p>
    </div>
  );
}

/** The requests of some times, by device and operation. */
function useRequests(times: readonly Interval[]): Requests[] | null {
  const from = source.value;
  const ask = ({ from: begin, to }: Interval): TableQuery => ({
    ...{ from: begin, to, kinds: [KIND], took: null, threads: "all", find: "" },
    ...{ sort: "duration", order: "desc", limit: MOST, offset: 0 },
  });
  const { value } = useAnswer(
    from ? JSON.stringify(times) : null,
    async (signal) => {
      const answers = await Promise.all(times.map((time) => from?.table(ask(time), signal)));
      return requestsOf(answers.flatMap((answer): readonly SpanRow[] => answer?.rows ?? []));
    },
    80,
  );
  return value;
}

function Device(properties: { name: string; now: Requests | undefined; before: Requests | undefined }): JSX.Element {
  const { name, now, before } = properties;
  const rows = [...STAGES.map(([, stage, says]) => [stage, says] as const), [WHOLE, "all of it"] as const];
  const known = rows.filter(([stage]) => now?.stages.has(stage) || before?.stages.has(stage));
  const count = (of: Requests | undefined): string => counted(of?.stages.get(WHOLE)?.count ?? 0, "request");
  return (
    <table class="data stages" aria-label={`Requests of ${name} by stage`}>
      <thead>
        <tr>
          <th scope="col">
            <Name text={name} longest={60} />
          </th>
          <th scope="col" class="number" colSpan={2}>
            picked, {count(now)}
          </th>
          <th scope="col" class="number" colSpan={2}>
            quiet time, {count(before)}
          </th>
        </tr>
        <tr>
          <th scope="col">stage</th>
          {["p50", "p99", "p50", "p99"].map((title, column) => (
            <th key={column} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {known.map(([stage, says]) => (
          <tr key={stage}>
            <th scope="row">
              {stage} <span class="muted">{says}</span>
            </th>
            <Pair of={now?.stages.get(stage)} />
            <Pair of={before?.stages.get(stage)} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Pair({ of }: { of: Quantiles | undefined }): JSX.Element {
  return (
    <>
      <td class="number">{of ? duration(of.p50) : "–"}</td>
      <td class="number">{of ? duration(of.p99) : "–"}</td>
    </>
  );
}

export default {
  id: "stages",
  title: "Disk stages",
  place: "detail",
  order: 45,
  isUseful: ({ lanes }) => lanes.some(({ kinds, kind }) => kind === "spans" && kinds?.includes(KIND)),
  Component: Stages,
} satisfies View;
