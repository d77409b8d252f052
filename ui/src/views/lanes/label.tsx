// The label left of a lane: its name, its value under the pointer, and its buttons.

import type { ComponentChildren, JSX } from "preact";
import type { Lane } from "../../data/overview.ts";
import { moveBefore, toggleLane, togglePin, toggleThin } from "../../state/lanes.ts";
import { update, view } from "../../state/store.ts";
import { Name } from "../../widgets/text.tsx";

/** This type identifies a dragged lane, so that other dragged things are ignored. */
const DRAGGED = "text/x-fathom-lane";

export function LaneLabel(properties: { lane: Lane; id: string; children?: ComponentChildren }): JSX.Element {
  const { lane, id, children } = properties;
  const title = id === lane.id ? lane.title : `${lane.title} · ${id.slice(lane.id.length + 1)}`;
  const isThin = isFolded(id);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dragging is one way; the buttons are the other
    <div
      class="lane-label"
      title={lane.says}
      draggable
      onDragStart={(event) => event.dataTransfer?.setData(DRAGGED, id)}
      onDragOver={(event) => event.dataTransfer?.types.includes(DRAGGED) && event.preventDefault()}
      onDrop={(event) => drop(event, id)}
    >
      <div class="lane-title">
        <Name text={title} longest={44} />
        <Tools id={id} title={lane.title} isThin={isThin} />
      </div>
      {!isThin && <div class="lane-value">{children}</div>}
    </div>
  );
}

function drop(event: DragEvent, id: string): void {
  const dragged = event.dataTransfer?.getData(DRAGGED);
  if (!dragged) return;
  event.preventDefault();
  update(moveBefore(view.peek(), dragged, id));
}

function Tools({ id, title, isThin }: { id: string; title: string; isThin: boolean }): JSX.Element {
  const isPinned = view.value.pins.includes(id);
  return (
    <span class="lane-tools">
      <Tool
        sign={isThin ? "▸" : "▾"}
        says={`${isThin ? "unfold" : "fold"} ${title}`}
        onClick={() => update(toggleThin(view.peek(), id))}
      />
      <Tool
        sign={isPinned ? "↓" : "↑"}
        says={`${isPinned ? "unpin" : "pin"} ${title}`}
        onClick={() => update(togglePin(view.peek(), id))}
      />
      <Tool sign="×" says={`hide ${title}`} onClick={() => update(toggleLane(view.peek(), id))} />
    </span>
  );
}

function Tool({ sign, says, onClick }: { sign: string; says: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="lane-tool" title={says} aria-label={says} onClick={onClick}>
      {sign}
    </button>
  );
}

/** The height of a folded lane. */
const STRIP = 18;

/** Whether a lane is folded to a strip. */
export function isFolded(id: string): boolean {
  return view.value.thin.includes(id);
}

/** The height of a lane's picture. */
export function heightOf(id: string, height: number): number {
  return isFolded(id) ? STRIP : height;
}
