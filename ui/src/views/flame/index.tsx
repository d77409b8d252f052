// The flame graph of what was picked: time × threads × event, as it is or against a baseline.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { amount, share } from "../../base/numbers.ts";
import { matcher } from "../../base/search.ts";
import { counted } from "../../base/text.ts";
import { foldRecursion, layout, search } from "../../charts/flame_layout.ts";
import { useAnswer } from "../../state/answer.ts";
import { overview, selection, source, update, view } from "../../state/store.ts";
import { Note, Search, Segmented } from "../../widgets/controls.tsx";
import { FlameCanvas } from "../../widgets/flame_canvas.tsx";
import { LayerLegend } from "../../widgets/layer_legend.tsx";
import type { View } from "../view.ts";

function Flame(): JSX.Element {
  const from = source.value;
  const { inverted, folded, baseline, search: typed } = view.value;
  const query = { ...selection.value, inverted, baseline };
  const answer = useAnswer(from && query.event !== "" ? JSON.stringify(query) : null, (signal) =>
    from ? from.flame(query, signal) : Promise.reject(new Error("no recording")),
  );
  const rows = answer.value;
  const flame = useMemo(() => (rows ? layout(folded ? foldRecursion(rows) : rows) : null), [rows, folded]);
  const wanted = typed === "" ? null : matcher(typed);
  const matches = useMemo(() => (flame ? search(flame, wanted) : null), [flame, typed]);
  const note = typed !== "" && matches ? `${share(matches.share)} in ${counted(matches.count, "frame")}` : "";
  return (
    <div class="flame-view" aria-busy={answer.waiting}>
      <div class="toolbar">
        <Segmented
          label="Direction"
          value={inverted ? "inverted" : "icicle"}
          choices={[
            ["icicle", "from the root"],
            ["inverted", "from the leaves"],
          ]}
          onChange={(direction) => update({ inverted: direction === "inverted" })}
        />
        <label class="check">
          <input type="checkbox" checked={folded} onChange={() => update({ folded: !folded })} /> fold recursion
        </label>
        <Search label="Find frames (/regex/)" value={typed} note={note} onInput={(text) => update({ search: text })} />
        <span class="spacer" />
        <span class="muted">
          {rows && `${amount(rows.total[0] ?? 0, unitOf(rows.unit))}, ${counted(rows.samples, "sample")}`}
        </span>
      </div>
      <LayerLegend isCompared={baseline.kind !== "none"} thinned={overview.value?.thinned ?? 1} />
      {answer.error && <Note>{answer.error}</Note>}
      {flame && matches && flame.rows.total[0] > 0 && (
        <FlameCanvas flame={flame} matches={matches} isSearching={typed !== ""} isCompared={baseline.kind !== "none"} />
      )}
      {flame && !(flame.rows.total[0] > 0) && (
        <Note>No samples in what is picked. Take more time, other threads or another event.</Note>
      )}
    </div>
  );
}

/** The unit of an event as numbers are printed with it. */
export function unitOf(unit: string): string {
  return unit === "samples" ? "count" : unit;
}

export default {
  id: "flame",
  title: "Flame graph",
  place: "detail",
  order: 10,
  isUseful: ({ events }) => events.length > 0,
  Component: Flame,
} satisfies View;
