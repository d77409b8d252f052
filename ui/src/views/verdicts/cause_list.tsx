// All causes that explain something, one line each, and the open cause below them.

import type { JSX } from "preact";
import { share, wholePercents } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import type { CauseVerdict, Explanation, Verdict } from "../../data/explanation.ts";
import { UNEXPLAINED } from "../../state/look.ts";
import { openCause, opened, overview } from "../../state/store.ts";
import { Sentence } from "../../widgets/text.tsx";
import { OpenCause } from "./cause.tsx";
import { Counts } from "./lists.tsx";
import { partsOf, ShareBar } from "./share_bar.tsx";
import { causeTitle, isHarm, shareText, verdictMeaning, verdictWord } from "./words.ts";
import { WorstInstants } from "./worst.tsx";

export function Causes({ explanation }: { explanation: Explanation }): JSX.Element {
  const { unexplained } = explanation;
  const named = explanation.causes.filter(({ verdict }) => verdict !== "ruled_out" && verdict !== "not_enough");
  const percents = wholePercents([...named.map((cause) => cause.share), unexplained.share]);
  const cause = named.find(({ id }) => id === opened.value);
  return (
    <section class="causes" aria-label="Causes">
      <ShareBar parts={partsOf(named, unexplained.share)} />
      <ul class="cause-list">
        {named.map((one, index) => (
          <CauseLine
            key={one.id}
            cause={one}
            percent={percents[index]}
            colour={index}
            isOpen={one.id === opened.value}
          />
        ))}
        {(unexplained.share > 0 || named.length === 0) && (
          <Line id={UNEXPLAINED} isOpen={opened.value === UNEXPLAINED} swatch="rest">
            {shareText(unexplained.share, percents[named.length])}
          </Line>
        )}
      </ul>
      <Counts explanation={explanation} />
      {cause && <OpenCause cause={cause} />}
      {opened.value === UNEXPLAINED && <Unexplained explanation={explanation} />}
    </section>
  );
}

function CauseLine(properties: { cause: CauseVerdict; percent: number; colour: number; isOpen: boolean }): JSX.Element {
  const { cause, percent, colour, isOpen } = properties;
  const swatch = cause.share > 0 ? `cause-colour-${colour % 6}` : "none";
  return (
    <Line id={cause.id} isOpen={isOpen} swatch={swatch} verdict={cause.verdict}>
      {isHarm(cause) ? <span title="harm other than lost time">harm</span> : shareText(cause.share, percent)}
    </Line>
  );
}

/** Share, name, and certainty. A click opens the cause. */
function Line(properties: {
  id: string;
  isOpen: boolean;
  swatch: string;
  verdict?: Verdict;
  children: JSX.Element | string;
}): JSX.Element {
  const { id, isOpen, swatch, verdict, children } = properties;
  return (
    <li class="cause" data-cause={id}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls="open-cause"
        title={overview.value?.pages[id]?.title}
        onClick={() => openCause(isOpen ? "none" : id)}
      >
        <span class="percent">{children}</span>
        <span class={`swatch ${swatch}`} />
        <span class="cause-name">
          <Sentence text={causeTitle(id)} />
        </span>
        {verdict && (
          <span class={`verdict ${verdict}`} title={verdictMeaning(verdict)}>
            {verdictWord(verdict)}
          </span>
        )}
      </button>
    </li>
  );
}

function Unexplained({ explanation }: { explanation: Explanation }): JSX.Element {
  const { unexplained } = explanation;
  return (
    <article class="open-cause unexplained" id="open-cause" aria-label="Unexplained">
      <h2>Unexplained</h2>
      <p>
        <Sentence text={unexplained.says} />
      </p>
      <WorstInstants />
      {unexplained.stacks.length > 0 && (
        <details>
          <summary>{counted(unexplained.stacks.length, "stack")} seen most</summary>
          <ul class="stacks">
            {unexplained.stacks.map(({ stack, share: part }) => (
              <li key={stack}>
                <span class="number">{share(part)}</span> <Sentence text={stack.split(";").slice(0, 4).join(" ← ")} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}
