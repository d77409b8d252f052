// One row per thread, grouped by role. This shows at once, for example, that the handlers stop when the collector starts.
//
// There may be thousands of threads. Only visible rows are requested, drawn and in the document.

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { css, paletteFor, stateColours } from "../../charts/palette.ts";
import { isDark, isForPaper, safeColours } from "../../state/appearance.ts";
import { event, heatOf, overview, toggled, update, view } from "../../state/store.ts";
import { Segmented } from "../../widgets/controls.tsx";
import type { View } from "../view.ts";
import { RowLabel } from "./labels.tsx";
import { RowsCanvas } from "./picture.tsx";
import { rowsOf, visibleRows } from "./rows.ts";
import { useSight } from "./sight.ts";

function Threads(): JSX.Element | null {
  const known = overview.value;
  const { opened, rows } = view.value;
  const [states, setStates] = useState<ReadonlySet<number>>(new Set());
  const container = useRef<HTMLDivElement>(null);
  const sight = useSight(container);
  const paper = isForPaper.value;
  const all = useMemo(
    () => (known ? rowsOf(known, { opened, rows, isForPaper: paper }) : null),
    [known, opened, rows, paper],
  );
  if (!known || !all || all.rows.length === 0) return null;
  const [first, end] = visibleRows(all, sight.from, sight.to);
  const toggle = (role: string): void => update({ opened: toggled(view.peek().opened, role) });
  return (
    <section class="threads" aria-label="Threads">
      <Head states={states} />
      <div class="thread-rows" ref={container} style={{ height: `${all.tops.at(-1)}px` }}>
        {all.rows.slice(first, end).map((row, index) => (
          <RowLabel key={first + index} row={row} top={all.tops[first + index]} onToggle={toggle} />
        ))}
        <div class="plot thread-plot" style={{ top: `${all.tops[first]}px` }}>
          <RowsCanvas all={all} first={first} end={end} onStates={setStates} />
        </div>
      </div>
    </section>
  );
}

function Head({ states }: { states: ReadonlySet<number> }): JSX.Element {
  return (
    <div class="lane threads-head">
      <div class="lane-label">
        <span class="lane-title">Threads</span>
        <Segmented
          label="What the thread lanes show"
          value={heatOf.value}
          choices={[
            ["state", "states"],
            ["samples", "samples"],
          ]}
          onChange={(heat) => update({ heat })}
        />
      </div>
      <div class="plot-note">
        {heatOf.value === "state" ? (
          <States inSight={states} />
        ) : (
          <span class="muted">samples of {event.value?.title ?? "nothing"}</span>
        )}
      </div>
    </div>
  );
}

/** The visible states and their colours. */
function States({ inSight }: { inSight: ReadonlySet<number> }): JSX.Element {
  const palette = paletteFor(isDark.value, safeColours.value);
  const states = overview.value?.states ?? [];
  const colours = stateColours(states, palette);
  return (
    <ul class="legend inline">
      {states.map(({ id, title }, index) =>
        inSight.has(index) ? (
          <li key={id}>
            <i style={{ background: css(colours[index], palette) }} />
            {title}
          </li>
        ) : null,
      )}
      <li>
        <i class="hatched" />
        not known
      </li>
    </ul>
  );
}

export default {
  id: "threads",
  title: "Threads",
  place: "time",
  order: 20,
  isUseful: ({ threads }) => threads.length > 0,
  Component: Threads,
} satisfies View;
