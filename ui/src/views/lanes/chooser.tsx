// The list of all lanes that the recording could show.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { counted } from "../../base/text.ts";
import type { Lane } from "../../data/overview.ts";
import { isDrawn, toggleLane } from "../../state/lanes.ts";
import { overview, update, view } from "../../state/store.ts";
import { Search } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import { choicesOf } from "./drawn.ts";

export function LaneChooser(): JSX.Element | null {
  const [find, setFind] = useState("");
  const [isOpen, open] = useState(false);
  const lanes = overview.value?.lanes ?? [];
  if (lanes.length === 0) return null;
  const wanted = find.toLowerCase();
  const groups = [...new Set(lanes.map(({ group }) => group))];
  return (
    <details class="lane-chooser" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>More lanes: {counted(lanes.length, "kind of measurement", "kinds of measurement")}</summary>
      {isOpen && (
        <>
          <Search label="Find a lane" value={find} onInput={setFind} />
          {groups.map((group) => (
            <Group key={group} title={group} lanes={lanes.filter((lane) => lane.group === group)} wanted={wanted} />
          ))}
        </>
      )}
    </details>
  );
}

function Group({
  title,
  lanes,
  wanted,
}: {
  title: string;
  lanes: readonly Lane[];
  wanted: string;
}): JSX.Element | null {
  const choices = lanes
    .flatMap((lane) => choicesOf(lane).map((choice) => ({ ...choice, lane })))
    .filter((choice) => `${choice.title} ${choice.key}`.toLowerCase().includes(wanted));
  if (choices.length === 0) return null;
  return (
    <fieldset>
      <legend>{title}</legend>
      {choices.map(({ key, title: name, lane }) => (
        <label key={key} title={lane.says ?? ""}>
          <input
            type="checkbox"
            checked={isDrawn(view.value, key)}
            onChange={() => update(toggleLane(view.peek(), key))}
          />
          <Name text={name} longest={60} />
        </label>
      ))}
    </fieldset>
  );
}
