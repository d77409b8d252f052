// What was ruled out, what could not be told, what was lost: folded, but always there.

import type { ComponentChildren, JSX } from "preact";
import type { CauseVerdict, Explanation } from "../../data/explanation.ts";
import { update, view } from "../../state/store.ts";
import { Sentence } from "../../widgets/text.tsx";
import { EvidenceTable } from "./cause.tsx";
import { CausePage } from "./cause_page.tsx";

export function RuledOut({ causes }: { causes: readonly CauseVerdict[] }): JSX.Element | null {
  return (
    <Fold title="Ruled out" count={causes.length} id="ruled-out" causes={causes}>
      {causes.map((cause) => (
        <ListedCause key={cause.id} cause={cause}>
          <Sentence text={cause.says} />
        </ListedCause>
      ))}
    </Fold>
  );
}

export function CannotTell({ causes }: { causes: readonly CauseVerdict[] }): JSX.Element | null {
  return (
    <Fold title="Cannot tell" count={causes.length} id="cannot-tell" causes={causes}>
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
  const isNamed = causes.some((cause) => cause.id === view.value.cause);
  return (
    <details class="fold" id={id} open={isNamed}>
      <summary>
        {title} <span class="count">{count}</span>
      </summary>
      <ul>{children}</ul>
    </details>
  );
}

/** A cause in a list: its name opens its evidence and its page. */
function ListedCause({ cause, children }: { cause: CauseVerdict; children: ComponentChildren }): JSX.Element {
  const isOpen = view.value.cause === cause.id;
  return (
    <li>
      <button
        type="button"
        class="row-button strong"
        aria-expanded={isOpen}
        onClick={() => update({ cause: isOpen ? "none" : cause.id })}
      >
        {cause.id}
      </button>
      <p>{children}</p>
      {isOpen && <EvidenceTable cause={cause} />}
      {isOpen && <CausePage id={cause.id} />}
    </li>
  );
}
