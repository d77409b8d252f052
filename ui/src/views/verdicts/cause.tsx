// One cause: its share, its verdict, one sentence; opened, the measurements behind it, what to do, and its page.

import type { JSX } from "preact";
import { amount } from "../../base/numbers.ts";
import type { CauseVerdict, Evidence } from "../../data/explanation.ts";
import { showEvidence, tracesOf } from "../../state/evidence.ts";
import { overview, pick, relative, update, view } from "../../state/store.ts";
import { Id, Sentence } from "../../widgets/text.tsx";
import { CausePage } from "./cause_page.tsx";
import { shareText, verdictWord } from "./words.ts";

export function Cause(properties: { cause: CauseVerdict; percent: number; colour: number }): JSX.Element {
  const { cause, percent, colour } = properties;
  const isOpen = view.value.cause === cause.id || (view.value.cause === "" && colour === 0);
  const toggle = (): void => update({ cause: isOpen ? "none" : cause.id });
  return (
    <article class={`cause ${isOpen ? "open" : ""}`} id={`cause-${cause.id}`}>
      <h2>
        <button type="button" aria-expanded={isOpen} onClick={toggle}>
          <span class="percent">{shareText(cause.share, percent)}</span>
          <span class={`swatch cause-colour-${colour % 6}`} />
          <span class="cause-name">
            <Id id={cause.id} />
          </span>
          <span class={`verdict ${cause.verdict}`}>{verdictWord(cause.verdict)}</span>
        </button>
      </h2>
      <p>
        <Sentence text={cause.says} />
      </p>
      {isOpen && <Opened cause={cause} />}
    </article>
  );
}

function Opened({ cause }: { cause: CauseVerdict }): JSX.Element {
  return (
    <>
      <EvidenceTable cause={cause} />
      {cause.chain.length > 0 && <p class="chain">{[cause.id, ...cause.chain].join(" ← ")}</p>}
      {cause.do.length > 0 && (
        <section class="advice">
          <h3>Do</h3>
          <ul>
            {cause.do.map((action) => (
              <li key={action}>
                <Sentence text={action} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {cause.prove !== "" && (
        <section class="advice">
          <h3>Prove</h3>
          <code>{cause.prove}</code>
        </section>
      )}
      {cause.verdict !== "shown" && cause.missing.length > 0 && <Surer cause={cause} />}
      <CausePage id={cause.id} />
    </>
  );
}

function Surer({ cause }: { cause: CauseVerdict }): JSX.Element {
  return (
    <section class="advice">
      <h3>Surer with</h3>
      <ul>
        {cause.missing.map(({ says, record_with }) => (
          <li key={says}>
            <Sentence text={says} /> <code>{record_with}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Each measurement against its baseline; the whole row shows what it was read from. */
export function EvidenceTable({ cause }: { cause: CauseVerdict }): JSX.Element | null {
  if (cause.evidence.length === 0) return null;
  return (
    <table class="evidence">
      <thead>
        <tr>
          <th scope="col">evidence</th>
          <th scope="col" class="number">
            slow
          </th>
          <th scope="col" class="number">
            baseline
          </th>
        </tr>
      </thead>
      <tbody>
        {cause.evidence.map((item, index) => (
          <EvidenceRow key={index} cause={cause.id} item={item} />
        ))}
      </tbody>
    </table>
  );
}

function EvidenceRow({ cause, item }: { cause: string; item: Evidence }): JSX.Element {
  return (
    <tr onClick={() => follow(cause, item)} title={`show the ${item.table} that this was read from`}>
      <td>
        <button type="button" class="row-button">
          <Sentence text={item.says} />
        </button>
        <Bars value={item.value} baseline={item.baseline} />
      </td>
      <td class="number">{amount(item.value, item.unit)}</td>
      <td class="number muted">{item.baseline === null ? "" : amount(item.baseline, item.unit)}</td>
    </tr>
  );
}

function follow(cause: string, item: Evidence): void {
  const known = overview.peek();
  if (!known) return;
  const time = { from: relative(item.from_ns), to: relative(item.to_ns) };
  pick(time.to > time.from ? time : null, {
    cause,
    ...showEvidence(item, tracesOf(cause, known), known, view.peek()),
  });
}

/** Two bars, one above the other: the eye compares lengths faster than digits. */
function Bars({ value, baseline }: { value: number; baseline: number | null }): JSX.Element | null {
  if (baseline === null || !(value >= 0) || !(baseline >= 0)) return null;
  const most = Math.max(value, baseline);
  if (most === 0) return null;
  return (
    <span class="bars" aria-hidden="true">
      <span style={{ width: `${(value / most) * 100}%` }} />
      <span style={{ width: `${(baseline / most) * 100}%` }} />
    </span>
  );
}
