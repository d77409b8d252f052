// Pauses, waits, faults, requests: all spans of the selection, sorted and filtered, each with its stack.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { duration } from "../../base/numbers.ts";
import { counted, grouped } from "../../base/text.ts";
import type { Lane } from "../../data/overview.ts";
import type { SpanTable, TableQuery } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { chosenThreads, kindTitle, overview, selection, source, toggled, update, view } from "../../state/store.ts";
import { Button, Note, Search } from "../../widgets/controls.tsx";
import type { View } from "../view.ts";
import { SpanTableView } from "./table.tsx";

const PAGE = 200;

type Sorting = Pick<TableQuery, "sort" | "order">;

function Spans(): JSX.Element {
  const [sorting, sortBy] = useState<Sorting>({ sort: "duration", order: "desc" });
  const [limit, setLimit] = useState(PAGE);
  const from = source.value;
  const { find, took } = view.value;
  const kinds = chosenKinds();
  const { from: begin, to } = selection.value;
  const time = { from: begin, to };
  const query: TableQuery = { ...time, kinds, find, took, threads: chosenThreads.value, ...sorting, limit, offset: 0 };
  const answer = useAnswer(
    from ? JSON.stringify(query) : null,
    (signal) => (from ? from.table(query, signal) : Promise.reject(new Error("no recording"))),
    80,
  );
  const found = answer.value;
  return (
    <div class="spans-view" aria-busy={answer.waiting}>
      <div class="toolbar">
        <Search label="Find spans" value={find} onInput={(text) => update({ find: text })} />
        {took && (
          <span class="chip">
            took {duration(took.from)} to {duration(took.to)}
            <Button kind="link" onClick={() => update({ took: null })}>
              any time
            </Button>
          </span>
        )}
        <span class="muted">{found && summaryOf(found)}</span>
      </div>
      <Kinds chosen={kinds} />
      {answer.error && <Note>{answer.error}</Note>}
      {found && found.rows.length > 0 && <SpanTableView rows={found.rows} sorting={sorting} sortBy={sortBy} />}
      {found?.rows.length === 0 && (
        <Note>
          No such spans in what is picked.{" "}
          {view.value.threads !== "" && (
            <Button kind="link" onClick={() => update({ threads: "" })}>
              look at all threads
            </Button>
          )}
        </Note>
      )}
      {found && found.held > found.rows.length && (
        <Button onClick={() => setLimit(limit + 5 * PAGE)}>{grouped(found.held - found.rows.length)} more</Button>
      )}
    </div>
  );
}

/** How many spans there are, and which of them are shown. */
function summaryOf({ total, totalDuration, held, isPart }: SpanTable): string {
  const count = counted(total, "span");
  const which = held < total ? `the longest ${grouped(held)} of ${count}` : count;
  const time = Number.isFinite(totalDuration) && total > 0 ? `, ${duration(totalDuration)} together` : "";
  return `${which}${time}${isPart ? "; this file holds only the longest, which were searched" : ""}`;
}

/** The chosen kinds. If none are chosen, those whose lanes are drawn by default. */
function chosenKinds(): readonly string[] {
  const { kinds } = view.value;
  if (kinds.length > 0) return kinds;
  const shown = kindsOf(({ shown: isShown }) => isShown);
  return shown.length > 0 ? shown : kindsOf(() => true);
}

function kindsOf(isWanted: (lane: Lane) => boolean): string[] {
  const lanes = (overview.value?.lanes ?? []).filter((lane) => lane.kind === "spans" && isWanted(lane));
  return [...new Set(lanes.flatMap((lane) => lane.kinds ?? []))];
}

/** The kinds in the recording. */
function Kinds({ chosen }: { chosen: readonly string[] }): JSX.Element {
  const kinds = kindsOf(() => true);
  return (
    <fieldset class="chips" aria-label="Kinds of spans">
      {kinds.map((kind) => (
        <button
          key={kind}
          type="button"
          aria-pressed={chosen.includes(kind)}
          onClick={() => update({ kinds: toggled(chosen, kind) })}
        >
          {kindTitle(kind)}
        </button>
      ))}
      {chosen.length < kinds.length && (
        <Button kind="link" onClick={() => update({ kinds })}>
          all kinds
        </Button>
      )}
      {view.value.kinds.length > 0 && (
        <Button kind="link" onClick={() => update({ kinds: [] })}>
          those drawn
        </Button>
      )}
    </fieldset>
  );
}

export default {
  id: "spans",
  title: "Spans",
  place: "detail",
  order: 40,
  isUseful: ({ lanes }) => lanes.some(({ kind }) => kind === "spans"),
  Component: Spans,
} satisfies View;
