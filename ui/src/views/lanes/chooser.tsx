// The list of all lanes of the recording. Those that changed most in the slow time come first.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import type { Lane } from "../../data/overview.ts";
import { isDrawn, toggleLane } from "../../state/lanes.ts";
import { overview, update, view } from "../../state/store.ts";
import { Search } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import { byChange, type Choice, choicesOf, mostChanged } from "./drawn.ts";

/** How many of the most changed lanes are listed first. */
const FIRST = 12;

export function LaneChooser(): JSX.Element | null {
  const [find, setFind] = useState("");
  const [isOpen, open] = useState(false);
  const lanes = overview.value?.lanes ?? [];
  if (lanes.length === 0) return null;
  return (
    <details class="lane-chooser" open={isOpen} onToggle={(event) => open(event.currentTarget.open)}>
      <summary>More lanes: {counted(lanes.length, "kind of measurement", "kinds of measurement")}</summary>
      {isOpen && (
        <>
          <Search label="Find a lane" value={find} onInput={setFind} />
          <Choices lanes={lanes} wanted={find.toLowerCase()} />
        </>
      )}
    </details>
  );
}

function Choices({ lanes, wanted }: { lanes: readonly Lane[]; wanted: string }): JSX.Element {
  const choices = lanes
    .flatMap(choicesOf)
    .filter((choice) => `${choice.title} ${choice.key}`.toLowerCase().includes(wanted));
  const groups = [...new Set(choices.map(({ lane }) => lane.group))];
  return (
    <>
      <Group title="changed most in the slow time" choices={mostChanged(choices, FIRST)} />
      {groups.map((group) => (
        <Group key={group} title={group} choices={byChange(choices.filter(({ lane }) => lane.group === group))} />
      ))}
    </>
  );
}

function Group({ title, choices }: { title: string; choices: readonly Choice[] }): JSX.Element | null {
  if (choices.length === 0) return null;
  return (
    <fieldset>
      <legend>{title}</legend>
      {choices.map((choice) => (
        <Tick key={choice.key} choice={choice} />
      ))}
    </fieldset>
  );
}

function Tick({ choice: { key, title, lane, change } }: { choice: Choice }): JSX.Element {
  // The value of spans is how many there were at the same time.
  const unit = lane.kind === "spans" ? "threads" : lane.unit;
  return (
    <label title={lane.says ?? ""}>
      <input type="checkbox" checked={isDrawn(view.value, key)} onChange={() => update(toggleLane(view.peek(), key))} />
      <Name text={title} longest={60} />
      {change && change.size > 0 && (
        <span class="faint change">
          {amount(change.baseline, unit)} → {amount(change.slow, unit)}
        </span>
      )}
    </label>
  );
}
