// The hottest frames of the selection, and the callers and callees of one of them.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { eventAmount, share } from "../../base/numbers.ts";
import { matcher } from "../../base/search.ts";
import type { FramesQuery, HottestFrame, HottestFrames } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { selection, source, update, view } from "../../state/store.ts";
import { Note, Search } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import type { View } from "../view.ts";
import { Sandwich } from "./sandwich.tsx";

type Order = FramesQuery["sort"];

function Frames(): JSX.Element {
  const from = source.value;
  const { baseline, search: find } = view.value;
  const [order, sortBy] = useState<Order>("self");
  const isCompared = baseline.kind !== "none";
  const query: FramesQuery = { ...selection.value, baseline, sort: order === "growth" && !isCompared ? "self" : order };
  const answer = useAnswer(from && query.event !== "" ? JSON.stringify(query) : null, (signal) =>
    from ? from.frames(query, signal) : Promise.reject(new Error("no recording")),
  );
  const wanted = matcher(find);
  const shown = (answer.value?.frames ?? []).filter(({ name }) => wanted(name));
  return (
    <div class="frames-view" aria-busy={answer.waiting}>
      <div class="frames-list">
        <div class="toolbar">
          <Search label="Find frames" value={find} onInput={(text) => update({ search: text })} />
          <span class="muted">own: the frame itself · total: with what it calls</span>
        </div>
        {answer.error && <Note>{answer.error}</Note>}
        {answer.value && shown.length === 0 && <Note>No such frames in what is picked.</Note>}
        {answer.value && shown.length > 0 && (
          <FramesTable found={answer.value} shown={shown} order={order} sortBy={sortBy} isCompared={isCompared} />
        )}
      </div>
      {view.value.frame !== "" && <Sandwich frame={view.value.frame} />}
    </div>
  );
}

function FramesTable(properties: {
  found: HottestFrames;
  shown: readonly HottestFrame[];
  order: Order;
  sortBy: (order: Order) => void;
  isCompared: boolean;
}): JSX.Element {
  const { found, shown, order, sortBy, isCompared } = properties;
  const whole = found.total || 1;
  const columns: (readonly [Order, string])[] = [
    ["self", "own"],
    ["total", "total"],
  ];
  if (isCompared) columns.push(["growth", "own, against baseline"]);
  return (
    <table class="data">
      <thead>
        <tr>
          {columns.map(([id, title]) => (
            <th key={id} scope="col" class="number" aria-sort={order === id ? "descending" : "none"}>
              <button type="button" class="row-button" onClick={() => sortBy(id)}>
                {title}
                {order === id ? " ↓" : ""}
              </button>
            </th>
          ))}
          <th scope="col">frame</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((frame, index) => (
          <tr key={index} aria-selected={frame.name === view.value.frame} onClick={() => update({ frame: frame.name })}>
            <td class="number" title={eventAmount(frame.self, found.unit)}>
              {share(frame.self / whole)}
              <span class="bar" style={{ width: `${(frame.self / whole) * 100}%` }} />
            </td>
            <td class="number">{share(frame.total / whole)}</td>
            {isCompared && <td class="number">{signed((frame.self - (frame.baseSelf || 0)) / whole)}</td>}
            <td>
              <i class={`layer ${frame.kind}`} title={frame.kind} />
              <button type="button" class="row-button">
                <Name text={frame.name} longest={110} />
              </button>{" "}
              <span class="faint">
                <Name text={frame.module} longest={40} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function signed(ratio: number): string {
  return ratio > 0 ? `+${share(ratio)}` : share(ratio);
}

export default {
  id: "frames",
  title: "Hottest frames",
  place: "detail",
  order: 20,
  isUseful: ({ events }) => events.length > 0,
  Component: Frames,
} satisfies View;
