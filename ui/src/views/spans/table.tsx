// The rows of the table of spans. An opened row shows its details and its stacks.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { duration } from "../../base/numbers.ts";
import { spaced } from "../../base/text.ts";
import { decimalsFor, timeOfDay } from "../../base/time.ts";
import type { SpanRow, TableQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { kindTitle, origin, overview, pick, source, update, zone } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import { requestOf } from "../request/picked.ts";
import { detailsOf } from "./details.ts";

type Sorting = Pick<TableQuery, "sort" | "order">;

const COLUMNS: readonly (readonly [sort: TableQuery["sort"] | null, title: string])[] = [
  ["time", "began"],
  ["duration", "took"],
  [null, "kind"],
  ["name", "name"],
  ["thread", "thread"],
];

export function SpanTableView(properties: {
  rows: readonly SpanRow[];
  sorting: Sorting;
  sortBy: (sorting: Sorting) => void;
}): JSX.Element {
  const { rows, sorting, sortBy } = properties;
  const [opened, open] = useState(-1);
  const longest = rows.reduce((most, row) => Math.max(most, row.duration), 0);
  return (
    <table class="data spans">
      <thead>
        <tr>
          {COLUMNS.map(([sort, title]) => (
            <Heading key={title} sort={sort} title={title} sorting={sorting} sortBy={sortBy} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <SpanRowView
            key={index}
            row={row}
            longest={longest}
            isOpen={index === opened}
            onOpen={() => open(index === opened ? -1 : index)}
          />
        ))}
      </tbody>
    </table>
  );
}

function Heading(properties: {
  sort: TableQuery["sort"] | null;
  title: string;
  sorting: Sorting;
  sortBy: (sorting: Sorting) => void;
}): JSX.Element {
  const { sort, title, sorting, sortBy } = properties;
  if (sort === null) return <th scope="col">{title}</th>;
  const isSorted = sorting.sort === sort;
  const isDown = sorting.order === "desc";
  const turn = (): void => sortBy({ sort, order: isSorted && isDown ? "asc" : "desc" });
  return (
    <th
      scope="col"
      class={sort === "duration" || sort === "time" ? "number" : ""}
      aria-sort={isSorted ? (isDown ? "descending" : "ascending") : "none"}
    >
      <button type="button" class="row-button" onClick={turn}>
        {title}
        {isSorted ? (isDown ? " ↓" : " ↑") : ""}
      </button>
    </th>
  );
}

function SpanRowView(properties: { row: SpanRow; longest: number; isOpen: boolean; onOpen: () => void }): JSX.Element {
  const { row, longest, isOpen, onOpen } = properties;
  const thread = overview.value?.threads[row.thread];
  return (
    <>
      <tr onClick={onOpen}>
        <td class="number">
          <button type="button" class="row-button" aria-expanded={isOpen}>
            {timeOfDay(origin.value, row.t, zone.value, decimalsFor(1e3))}
          </button>
        </td>
        <td class="number">
          {duration(row.duration)}
          <span class="bar" style={{ width: `${(row.duration / (longest || 1)) * 100}%` }} />
        </td>
        <td class="muted">{kindTitle(row.kind)}</td>
        <td>
          <Name text={row.name} longest={70} />
        </td>
        <td class="muted">
          <Name text={thread?.name ?? (row.thread < 0 ? "process" : `thread ${row.thread}`)} longest={32} />
        </td>
      </tr>
      {isOpen && (
        <tr class="opened">
          <td colSpan={COLUMNS.length}>
            <Opened row={row} />
          </td>
        </tr>
      )}
    </>
  );
}

function Opened({ row }: { row: SpanRow }): JSX.Element {
  return (
    <div class="span-details">
      {row.kind === "request" && (
        <Button onClick={() => update({ tab: "request", request: requestOf(row) })}>its waterfall</Button>
      )}
      <Button onClick={() => pick({ from: row.t, to: row.t + Math.max(row.duration, 1_000) })}>pick this time</Button>
      <dl>
        {detailsOf(row.detail).map(([key, value]) => (
          <div key={key}>
            <dt>{spaced(key)}</dt>
            <dd>
              <Name text={value} longest={120} />
            </dd>
          </div>
        ))}
      </dl>
      {row.stack > 0 && <Stack id={row.stack} title="Stack" />}
      {row.kernelStack > 0 && <Stack id={row.kernelStack} title="Stack in the kernel" />}
      {row.stack <= 0 && row.kernelStack <= 0 && <Note>No stack was recorded for it.</Note>}
    </div>
  );
}

function Stack({ id, title }: { id: number; title: string }): JSX.Element {
  const from = source.value;
  const answer = useAnswer(from ? String(id) : null, (signal) =>
    from ? from.stack(id, signal) : Promise.reject(new Error("no recording")),
  );
  return (
    <section>
      <h3>{title}</h3>
      {answer.error && <Note>{answer.error}</Note>}
      <ol class="stack">
        {answer.value?.map((frame, index) => (
          <li key={index}>
            <i class={`layer ${frame.kind}`} title={frame.kind} />
            <Name text={frame.line > 0 ? `${frame.name}:${frame.line}` : frame.name} longest={140} />{" "}
            <span class="faint">
              <Name text={frame.module} longest={50} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
