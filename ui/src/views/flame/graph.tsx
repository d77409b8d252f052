// One flame graph with its search matches. If it does not have the zoomed frame, a line says so.

import type { JSX } from "preact";
import { matcher } from "../../base/search.ts";
import { shorten } from "../../base/text.ts";
import { type FlameLayout, type Matches, search } from "../../charts/flame_layout.ts";
import { view } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { FlameCanvas, type Side } from "../../widgets/flame_canvas.tsx";

export interface GraphProperties {
  flame: FlameLayout;
  matches: Matches;
  /** Names the graph. */
  identity: string;
  /** The zoomed row: 0 for the whole graph, -1 for a frame that it does not have. */
  zoomed: number;
  /** The name of the zoomed frame. */
  name: string;
  onZoom: (row: number) => void;
}

/** The frames of a graph whose names match the search. */
export function matchesOf(flame: FlameLayout, typed: string): Matches {
  return search(flame, typed === "" ? null : matcher(typed));
}

export function Graph(
  properties: GraphProperties & { isCompared?: boolean; side?: Side; isFollower?: boolean },
): JSX.Element {
  const { name, isCompared = false, ...drawn } = properties;
  const { flame, zoomed, onZoom, side } = drawn;
  // A frame that only the other graph of a pair has is included with weight 0.
  const isAbsent = zoomed < 0 || (zoomed > 0 && !(flame.rows.total[zoomed] > 0));
  if (isAbsent) return <Absent name={name} side={side} onShowAll={() => onZoom(0)} />;
  return <FlameCanvas {...drawn} isSearching={view.value.search !== ""} isCompared={isCompared} />;
}

function Absent(properties: { name: string; side: Side | undefined; onShowAll: () => void }): JSX.Element {
  const { name, side, onShowAll } = properties;
  return (
    <>
      <div class="frame-line">
        {side && <h2>{side.name}</h2>}
        <span class="spacer" />
        <Button kind="link" onClick={onShowAll}>
          show all
        </Button>
      </div>
      <Note>{`Nothing of ${shorten(name, 120)} in ${side ? `the ${side.name}` : "what is picked"}.`}</Note>
    </>
  );
}
