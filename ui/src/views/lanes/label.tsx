// What stands left of a lane: its name, and its value under the pointer.

import type { ComponentChildren, JSX } from "preact";
import type { Lane } from "../../data/overview.ts";
import { toggled, update, view } from "../../state/store.ts";
import { Name } from "../../widgets/text.tsx";

export function LaneLabel(properties: { lane: Lane; id: string; children?: ComponentChildren }): JSX.Element {
  const { lane, id, children } = properties;
  const title = id === lane.id ? lane.title : `${lane.title} · ${id.slice(lane.id.length + 1)}`;
  return (
    <div class="lane-label" title={lane.says}>
      <div class="lane-title">
        <Name text={title} longest={44} />
        <button
          type="button"
          class="lane-hide"
          title={`hide ${lane.title}`}
          aria-label={`hide ${lane.title}`}
          onClick={() => update({ lanes: toggled(view.peek().lanes, id) })}
        >
          ×
        </button>
      </div>
      <div class="lane-value">{children}</div>
    </div>
  );
}
