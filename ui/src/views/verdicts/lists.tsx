// What was ruled out, what could not be determined, and what was lost: folded, but always present.

import type { ComponentChildren, JSX } from "preact";
import type { Nanoseconds } from "../../base/quantities.ts";
import { day, timeOfDay } from "../../base/time.ts";
import type { CauseVerdict, Explanation, Verdict } from "../../data/explanation.ts";
import { opened, origin, relative, slow, update, zone } from "../../state/store.ts";
import { Button } from "../../widgets/controls.tsx";
import { Sentence } from "../../widgets/text.tsx";
import { CausePage } from "./cause_page.tsx";
import { EvidenceTable } from "./evidence_table.tsx";
import { causeTitle, exclusion, heldWhen } from "./words.ts";

/** In a longer time than this, a time of day alone is ambiguous. */
const DAY: Nanoseconds = 24 * 3600e9;

/** The number of excluded and undecided causes, in one line. Each number links to its list below. */
export function Counts({ explanation }: { explanation: Explanation }): JSX.Element {
  const count = (verdict: Verdict): number => explanation.causes.filter((cause) => cause.verdict === verdict).length;
  const lists = [
    { id: "ruled-out", count: count("ruled_out"), word: "ruled out" },
    { id: "cannot-tell", count: count("not_enough"), word: "not measured" },
    { id: "losses", count: explanation.losses.length, word: explanation.losses.length === 1 ? "loss" : "losses" },
  ];
  return (
    <p class="counts">
      {lists
        .filter(({ count: listed }) => listed > 0)
        .map(({ id, count: listed, word }) => (
          <Button key={id} kind="link" onClick={() => unfold(id)}>
            {listed} {word}
          </Button>
        ))}
    </p>
  );
}

function unfold(id: string): void {
  const list = document.getElementById(id);
  if (!(list instanceof HTMLDetailsElement)) return;
  list.open = true;
  list.querySelector("summary")?.focus({ preventScroll: true });
  list.scrollIntoView({ block: "start" });
}

export function RuledOut({ causes }: { causes: readonly CauseVerdict[] }): JSX.Element | null {
  return (
    <Fold title="Ruled out" count={causes.length} id="ruled-out" causes={causes}>
      <When during={causes[0]?.during} />
      {causes.map((cause) => (
        <ListedCause key={cause.id} cause={cause}>
          <Sentence text={exclusion(cause)} />
        </ListedCause>
      ))}
    </Fold>
  );
}

/** The time for which this is true: it is the same for all of them. */
function When({ during }: { during: CauseVerdict["during"] }): JSX.Element | null {
  if (!during) return null;
  const [from, to] = [relative(during.from_ns), relative(during.to_ns)];
  const isOfDays = to - from > DAY;
  const told = (at: number): string => {
    const time = timeOfDay(origin.value, at, zone.value);
    return isOfDays ? `${day(origin.value, at, zone.value)} ${time}` : time;
  };
  return <li class="muted">{heldWhen(told(from), told(to), slow.value.length)}</li>;
}

export function CannotTell({ causes }: { causes: readonly CauseVerdict[] }): JSX.Element | null {
  return (
    <Fold title="Not measured" count={causes.length} id="cannot-tell" causes={causes}>
      {causes.map((cause) => (
        <ListedCause key={cause.id} cause={cause}>
          <Sentence text={cause.says} />
          {cause.missing.map(({ record_with }) => record_with !== "" && <code key={record_with}>{record_with}</code>)}
        </ListedCause>
      ))}
    </Fold>
  );
}

export function Losses({ losses }: { losses: Explanation["losses"] }): JSX.Element {
  if (losses.length === 0) return <p class="fold-none">Nothing was lost</p>;
  return (
    <Fold title="Lost" count={losses.length} id="losses" causes={[]}>
      {losses.map(({ source, kind, says }, index) => (
        <li key={index}>
          <strong>{source}</strong> <span class="muted">{kind.replaceAll("_", " ")}</span>
          <br />
          <Sentence text={says} />
        </li>
      ))}
    </Fold>
  );
}

function Fold(properties: {
  title: string;
  count: number;
  id: string;
  causes: readonly CauseVerdict[];
  children: ComponentChildren;
}): JSX.Element | null {
  const { title, count, id, causes, children } = properties;
  if (count === 0) return null;
  const isNamed = causes.some((cause) => cause.id === opened.value);
  return (
    <details class="fold" id={id} open={isNamed}>
      <summary>
        {title} <span class="count">{count}</span>
      </summary>
      <ul>{children}</ul>
    </details>
  );
}

/** A cause in a list. Its name opens its evidence and its page. */
function ListedCause({ cause, children }: { cause: CauseVerdict; children: ComponentChildren }): JSX.Element {
  const isOpen = opened.value === cause.id;
  return (
    <li>
      <button
        type="button"
        class="row-button strong"
        aria-expanded={isOpen}
        onClick={() => update({ cause: isOpen ? "none" : cause.id })}
      >
        <Sentence text={causeTitle(cause.id)} />
      </button>
      <p>{children}</p>
      {isOpen && <EvidenceTable cause={cause} />}
      {isOpen && <CausePage id={cause.id} />}
    </li>
  );
}
