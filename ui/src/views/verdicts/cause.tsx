// One opened cause: what was found, what to do, then its measurements and its page.

import type { JSX } from "preact";
import { amount } from "../../base/numbers.ts";
import { clean } from "../../base/text.ts";
import type { CauseVerdict } from "../../data/explanation.ts";
import { Advice, Sentence } from "../../widgets/text.tsx";
import { CausePage } from "./cause_page.tsx";
import { EvidenceTable } from "./evidence_table.tsx";
import { causeTitle, verdictMeaning, verdictWord } from "./words.ts";
import { WorstInstants } from "./worst.tsx";

/** How many actions are shown by default. */
const SHOWN_ACTIONS = 2;

export function OpenCause({ cause }: { cause: CauseVerdict }): JSX.Element {
  return (
    <article class="open-cause" id="open-cause" aria-label={causeTitle(cause.id)} data-cause={cause.id}>
      <h2>
        <Sentence text={causeTitle(cause.id)} /> <code title="its name in the terminal">{clean(cause.id)}</code>
      </h2>
      <p>
        <Sentence text={cause.says} />
      </p>
      <p class="meaning muted">
        <strong>{verdictWord(cause.verdict)}</strong>: {verdictMeaning(cause.verdict)}
        {cause.cost && ` · ${amount(cause.cost.ns, "ns")} per ${cause.cost.per} of the slow time`}
      </p>
      <Actions cause={cause} />
      <WorstInstants />
      <EvidenceTable key={cause.id} cause={cause} />
      <Behind cause={cause} />
      {cause.verdict !== "shown" && <Surer missing={cause.missing.filter(({ record_with }) => record_with !== "")} />}
      {cause.prove !== "" && (
        <section class="advice">
          <h3>Prove</h3>
          <code>{cause.prove}</code>
        </section>
      )}
      <CausePage id={cause.id} />
    </article>
  );
}

function Actions({ cause }: { cause: CauseVerdict }): JSX.Element | null {
  if (cause.do.length === 0) return null;
  const more = cause.do.slice(SHOWN_ACTIONS);
  return (
    <section class="actions">
      <h3>What to do</h3>
      <List sentences={cause.do.slice(0, SHOWN_ACTIONS)} />
      {more.length > 0 && (
        <details>
          <summary>{more.length} more</summary>
          <List sentences={more} />
        </details>
      )}
    </section>
  );
}

function List({ sentences }: { sentences: readonly string[] }): JSX.Element {
  return (
    <ul>
      {sentences.map((sentence) => (
        <li key={sentence}>
          <Advice text={sentence} />
        </li>
      ))}
    </ul>
  );
}

/** The causes behind this one. */
function Behind({ cause }: { cause: CauseVerdict }): JSX.Element | null {
  if (cause.chain.length === 0) return null;
  return <p class="chain">{[cause.id, ...cause.chain].map(causeTitle).join(" ← ")}</p>;
}

function Surer({ missing }: { missing: CauseVerdict["missing"] }): JSX.Element | null {
  if (missing.length === 0) return null;
  return (
    <section class="advice">
      <h3>Surer with</h3>
      <ul>
        {missing.map(({ says, record_with }) => (
          <li key={says}>
            <Sentence text={says} /> <code>{record_with}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
