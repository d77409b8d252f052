// The flame graph of the selection: time × threads × event, alone or against a baseline.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { eventAmount, share } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import { foldRecursion, layout, type Matches } from "../../charts/flame_layout.ts";
import type { FlameRows } from "../../data/source.ts";
import { isWithoutStacks } from "../../state/look.ts";
import { canPair, event, isPair, opened, overview, update, view } from "../../state/store.ts";
import { Note, Search, Segmented } from "../../widgets/controls.tsx";
import { Sentence } from "../../widgets/text.tsx";
import { causeTitle } from "../verdicts/words.ts";
import type { View } from "../view.ts";
import { Export } from "./export.tsx";
import { Graph, type GraphProperties, matchesOf } from "./graph.tsx";
import { Pair } from "./pair.tsx";
import { useFlame } from "./use_flame.ts";
import { useZoom } from "./use_zoom.ts";

function Flame(): JSX.Element {
  const { rows, error, waiting, answers, question, more } = useFlame();
  const { folded, baseline, zoom, search } = view.value;
  const flame = useMemo(() => (rows ? layout(folded ? foldRecursion(rows) : rows) : null), [rows, folded]);
  const matches = useMemo(() => flame && matchesOf(flame, search), [flame, search]);
  const [zoomed, zoomTo] = useZoom(flame);
  const onZoom = (row: number): void => {
    zoomTo(row);
    if (row > 0) more(row);
  };
  return (
    <div class="flame-view" aria-busy={waiting} data-answers={answers}>
      <Toolbar rows={rows} matches={matches} />
      <WithoutStacks />
      {error && <Note>{error}</Note>}
      {flame && matches && flame.rows.total[0] > 0 && (
        <Graphs
          flame={flame}
          matches={matches}
          identity={`${question}${folded}`}
          zoomed={zoomed}
          name={zoom?.name ?? ""}
          onZoom={onZoom}
          isCompared={baseline.kind !== "none"}
        />
      )}
      {flame && !(flame.rows.total[0] > 0) && (
        <Note>No samples in what is picked. Take more time, other threads or another event.</Note>
      )}
    </div>
  );
}

/** One flame graph, or two side by side. */
function Graphs({ isCompared, ...graph }: GraphProperties & { isCompared: boolean }): JSX.Element {
  return isPair.value ? <Pair {...graph} /> : <Graph {...graph} isCompared={isCompared} />;
}

/** Says so if no stacks show the open cause, so that the displayed stacks are not mistaken for it. */
function WithoutStacks(): JSX.Element | null {
  const known = overview.value;
  const cause = opened.value;
  if (!known || !isWithoutStacks(cause, known.explanation)) return null;
  return (
    <Note>
      <Sentence
        text={`No stacks show “${causeTitle(cause)}”: the lanes above do. These are of ${event.value?.title}.`}
      />
    </Note>
  );
}

function Toolbar({ rows, matches }: { rows: FlameRows | null; matches: Matches | null }): JSX.Element {
  const { inverted, folded, search: typed } = view.value;
  const note = typed !== "" && matches ? `${share(matches.share)} in ${counted(matches.count, "frame")}` : "";
  return (
    <div class="toolbar">
      <Segmented
        label="Direction"
        value={inverted ? "inverted" : "icicle"}
        choices={[
          ["icicle", "from the root"],
          ["inverted", "from the leaves"],
        ]}
        onChange={(direction) => update({ inverted: direction === "inverted", zoom: null })}
      />
      <label class="check">
        <input type="checkbox" checked={folded} onChange={() => update({ folded: !folded })} /> fold recursion
      </label>
      {canPair.value && (
        <label class="check">
          <input
            type="checkbox"
            checked={isPair.value}
            onChange={() => update({ pair: isPair.peek() ? "one" : "two" })}
          />{" "}
          beside the quiet time
        </label>
      )}
      <Search label="Find frames (/regex/)" value={typed} note={note} onInput={(text) => update({ search: text })} />
      <span class="spacer" />
      <Export />
      <span class="muted">
        {rows && !isPair.value && `${eventAmount(rows.total[0] ?? 0, rows.unit)}, ${counted(rows.samples, "sample")}`}
      </span>
    </div>
  );
}

export default {
  id: "flame",
  title: "Flame graph",
  place: "detail",
  order: 10,
  isUseful: ({ events }) => events.length > 0,
  Component: Flame,
} satisfies View;
