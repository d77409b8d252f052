// The flame graph of what was picked: time × threads × event, as it is or against a baseline.

import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { amount, eventAmount, share } from "../../base/numbers.ts";
import { lengthOf } from "../../base/quantities.ts";
import { matcher } from "../../base/search.ts";
import { counted } from "../../base/text.ts";
import {
  type FlameLayout,
  foldRecursion,
  layout,
  type Matches,
  ofBaseline,
  search,
} from "../../charts/flame_layout.ts";
import type { FlameRows } from "../../data/source.ts";
import { isWithoutStacks } from "../../state/look.ts";
import { canPair, event, isPair, opened, overview, picked, selection, update, view } from "../../state/store.ts";
import { Note, Search, Segmented } from "../../widgets/controls.tsx";
import { FlameCanvas } from "../../widgets/flame_canvas.tsx";
import { LayerLegend } from "../../widgets/layer_legend.tsx";
import { Sentence } from "../../widgets/text.tsx";
import { causeTitle } from "../verdicts/words.ts";
import type { View } from "../view.ts";
import { useFlame } from "./use_flame.ts";
import { useZoom } from "./use_zoom.ts";

function Flame(): JSX.Element {
  const { rows, error, waiting, answers, question, more } = useFlame();
  const { folded, baseline, search: typed } = view.value;
  const flame = useMemo(() => (rows ? layout(folded ? foldRecursion(rows) : rows) : null), [rows, folded]);
  const matches = useMemo(() => (flame ? search(flame, typed === "" ? null : matcher(typed)) : null), [flame, typed]);
  const isCompared = baseline.kind !== "none";
  const [zoomed, zoomTo] = useZoom(flame, `${question}${folded}`);
  const zoom = (row: number): void => {
    zoomTo(row);
    if (row > 0) more(row);
  };
  return (
    <div class="flame-view" aria-busy={waiting} data-answers={answers}>
      <Toolbar rows={rows} matches={matches} />
      <WithoutStacks />
      {error && <Note>{error}</Note>}
      {flame && matches && flame.rows.total[0] > 0 && (
        <Sides
          flame={flame}
          quiet={isPair.value ? <Quiet flame={flame} zoomed={zoomed} onZoom={zoom} question={question} /> : null}
        >
          <FlameCanvas
            flame={flame}
            matches={matches}
            isSearching={typed !== ""}
            isCompared={isCompared}
            identity={`${question}${folded}`}
            // A frame of the quiet time alone has no width here.
            zoomed={flame.rows.total[zoomed] > 0 ? zoomed : 0}
            onZoom={zoom}
            title={
              isPair.value ? (
                <Side
                  title={picked.value ? "picked time" : "slow time"}
                  rows={flame.rows}
                  samples={flame.rows.samples}
                />
              ) : undefined
            }
          />
        </Sides>
      )}
      {flame && !(flame.rows.total[0] > 0) && (
        <Note>No samples in what is picked. Take more time, other threads or another event.</Note>
      )}
    </div>
  );
}

/** One flame graph, or two side by side below one legend. */
function Sides(properties: {
  flame: FlameLayout;
  quiet: JSX.Element | null;
  children: ComponentChildren;
}): JSX.Element {
  const { flame, quiet, children } = properties;
  const kinds = useMemo(() => new Set(flame.rows.kind), [flame]);
  if (!quiet) return <>{children}</>;
  return (
    <>
      <LayerLegend isCompared={false} thinned={overview.value?.thinned ?? 1} kinds={kinds} />
      <div class="flame-pair">
        <section class="slow" aria-label="Picked time">
          {children}
        </section>
        <section class="quiet" aria-label="Quiet time">
          {quiet}
        </section>
      </div>
    </>
  );
}

/** Of which time a graph is, and how much there is of it. */
function Side({ title, rows, samples }: { title: string; rows: FlameRows; samples?: number }): JSX.Element {
  const length = lengthOf(selection.value);
  const whole = rows.total[0] ?? 0;
  return (
    <h2>
      {title}{" "}
      <span class="muted">
        {eventAmount(whole, rows.unit)}
        {rows.unit === "ns" && ` (${amount(whole / length, "threads")})`}
        {samples !== undefined && `, ${counted(samples, "sample")}`}
      </span>
    </h2>
  );
}

/** The same of the quiet time, for as long as what is picked. */
function Quiet(properties: {
  flame: FlameLayout;
  zoomed: number;
  onZoom: (row: number) => void;
  question: string;
}): JSX.Element {
  const { flame, zoomed, onZoom, question } = properties;
  const typed = view.value.search;
  const quiet = useMemo(() => layout(ofBaseline(flame.rows)), [flame]);
  const matches = useMemo(() => search(quiet, typed === "" ? null : matcher(typed)), [quiet, typed]);
  const [rows, other] = [quiet.rows, flame.rows];
  return (
    <>
      {rows.total[0] > 0 ? (
        <FlameCanvas
          flame={quiet}
          matches={matches}
          isSearching={typed !== ""}
          isCompared={false}
          identity={question}
          zoomed={zoomed > 0 ? Math.max(rows.node.indexOf(other.node[zoomed]), 0) : 0}
          onZoom={(row) => onZoom(row > 0 ? Math.max(other.node.indexOf(rows.node[row]), 0) : 0)}
          title={<Side title="quiet time, scaled to the same length" rows={rows} />}
        />
      ) : (
        <Note>None of it in the quiet time.</Note>
      )}
    </>
  );
}

/** Where no stacks show the cause that is open, those that are there are not taken for it. */
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
