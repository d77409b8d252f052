// When it was slow, why, and how sure that is: the answer, before everything else.

import type { JSX } from "preact";
import { amount, change, duration, share, wholePercents } from "../../base/numbers.ts";
import { lengthOf, sameInterval } from "../../base/quantities.ts";
import { capitalised, counted } from "../../base/text.ts";
import { timeOfDay } from "../../base/time.ts";
import type { CauseVerdict, Evidence, Explanation } from "../../data/explanation.ts";
import { origin, overview, pick, picked, relative, slow, zone } from "../../state/store.ts";
import { Sentence } from "../../widgets/text.tsx";
import type { View } from "../view.ts";
import { Cause } from "./cause.tsx";
import { CannotTell, Losses, RuledOut } from "./lists.tsx";
import { partsOf, ShareBar } from "./share_bar.tsx";
import { shareText } from "./words.ts";

function Verdicts(): JSX.Element | null {
  const known = overview.value;
  if (!known) return null;
  const { explanation } = known;
  return (
    <div class="verdicts">
      <Headline explanation={explanation} />
      {explanation.slow.length > 0 && <Causes explanation={explanation} />}
      <RuledOut causes={withVerdict(explanation, "ruled_out")} />
      <CannotTell causes={withVerdict(explanation, "not_enough")} />
      <Losses losses={explanation.losses} />
    </div>
  );
}

function withVerdict({ causes }: Explanation, verdict: CauseVerdict["verdict"]): CauseVerdict[] {
  return causes.filter((cause) => cause.verdict === verdict);
}

function Headline({ explanation }: { explanation: Explanation }): JSX.Element {
  const { recording, headline, baseline, figures } = explanation;
  const slowTime = slow.value.reduce((sum, interval) => sum + lengthOf(interval), 0);
  const isHealthy = explanation.slow.length === 0;
  return (
    <header class="headline">
      <h1>
        {isHealthy
          ? capitalised(headline.says)
          : `Slow ${duration(slowTime)} of ${duration(recording.to_ns - recording.from_ns)}`}
      </h1>
      {headline.but.map((but) => (
        <p class="but" key={but}>
          <Sentence text={but} />
        </p>
      ))}
      <dl class="figures">
        {figures.slice(0, isHealthy ? 8 : 4).map((figure) => (
          <div key={figure.says}>
            <dt>{figure.says}</dt>
            <dd>{figureText(figure)}</dd>
          </div>
        ))}
      </dl>
      {!isHealthy && <SlowTimes explanation={explanation} />}
      {!isHealthy && baseline.says !== "" && <p class="muted">compared with {baseline.says}</p>}
    </header>
  );
}

function figureText({ value, baseline, unit }: Evidence): string {
  return baseline === null ? amount(value, unit) : change(baseline, value, unit);
}

/** The slow intervals, each a way to pick it. */
function SlowTimes({ explanation }: { explanation: Explanation }): JSX.Element {
  return (
    <ul class="slow-times">
      {explanation.slow.map(({ from_ns, to_ns, says }) => {
        const time = { from: relative(from_ns), to: relative(to_ns) };
        const [from, to] = [time.from, time.to].map((at) => timeOfDay(origin.value, at, zone.value));
        return (
          <li key={from_ns}>
            <button
              type="button"
              class="row-button"
              aria-pressed={sameInterval(picked.value, time)}
              onClick={() => pick(time)}
            >
              <time>{from === to ? from : `${from}–${to}`}</time> <Sentence text={says} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function Causes({ explanation }: { explanation: Explanation }): JSX.Element {
  const named = explanation.causes.filter(({ verdict }) => verdict !== "ruled_out" && verdict !== "not_enough");
  const percents = wholePercents([...named.map((cause) => cause.share), explanation.unexplained.share]);
  return (
    <section class="causes" aria-label="Causes">
      <ShareBar parts={partsOf(named, explanation.unexplained.share)} />
      {named.map((cause, index) => (
        <Cause key={cause.id} cause={cause} percent={percents[index]} colour={index} />
      ))}
      <Unexplained explanation={explanation} percent={percents[named.length]} />
    </section>
  );
}

function Unexplained({ explanation, percent }: { explanation: Explanation; percent: number }): JSX.Element | null {
  const { unexplained } = explanation;
  if (unexplained.share === 0) return null;
  return (
    <article class="cause unexplained">
      <h2>
        <span class="percent">{shareText(unexplained.share, percent)}</span>
        <span class="swatch rest" />
        <span class="cause-name">unexplained</span>
      </h2>
      <p>
        <Sentence text={unexplained.says} />
      </p>
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

export default { id: "verdicts", title: "Verdicts", place: "side", order: 10, Component: Verdicts } satisfies View;
