// When it was slow, or that nothing was, and what could make that wrong. The figures follow below.

import type { JSX } from "preact";
import { amount, change, duration } from "../../base/numbers.ts";
import { lengthOf, sameInterval } from "../../base/quantities.ts";
import { capitalised } from "../../base/text.ts";
import { timeOfDay } from "../../base/time.ts";
import type { Change, Evidence, Explanation, SlowInterval } from "../../data/explanation.ts";
import { limits, origin, pick, picked, relative, slow, zone } from "../../state/store.ts";
import { Sentence } from "../../widgets/text.tsx";

/** How many slow times are shown by default. */
const SHOWN_TIMES = 2;

export function Headline({ explanation }: { explanation: Explanation }): JSX.Element {
  const { recording, headline } = explanation;
  const slowTime = slow.value.reduce((sum, interval) => sum + lengthOf(interval), 0);
  const isHealthy = explanation.slow.length === 0;
  return (
    <header class="headline">
      <h1>
        {isHealthy
          ? capitalised(headline.says)
          : `Slow ${duration(slowTime)} of ${duration(recording.to_ns - recording.from_ns)}`}
      </h1>
      {isHealthy && <Reservations explanation={explanation} />}
      <SlowTimes times={explanation.slow} />
      {explanation.rhythm && (
        <p>
          <Sentence text={capitalised(explanation.rhythm.says)} />
        </p>
      )}
    </header>
  );
}

/** What could make the headline wrong. */
export function Reservations({ explanation }: { explanation: Explanation }): JSX.Element {
  return (
    <>
      {explanation.headline.but.map((but) => (
        <p class="but" key={but}>
          <Sentence text={but} />
        </p>
      ))}
    </>
  );
}

/** The slow times. A click picks one. If there are many, the longest are shown and the others are folded. */
function SlowTimes({ times }: { times: readonly SlowInterval[] }): JSX.Element | null {
  if (times.length === 0) return null;
  const longest = [...times].sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns));
  const [shown, more] = [longest.slice(0, SHOWN_TIMES), longest.slice(SHOWN_TIMES)];
  const inOrder = (some: SlowInterval[]): JSX.Element => (
    <ul class="slow-times">
      {some
        .sort((a, b) => a.from_ns - b.from_ns)
        .map((time) => (
          <SlowTime key={time.from_ns} {...time} />
        ))}
    </ul>
  );
  return (
    <>
      {inOrder(shown)}
      {more.length > 0 && (
        <details class="more">
          <summary>{more.length} shorter</summary>
          {inOrder(more)}
        </details>
      )}
    </>
  );
}

function SlowTime({ from_ns, to_ns, says }: SlowInterval): JSX.Element {
  const time = { from: relative(from_ns), to: relative(to_ns) };
  const [from, to] = [time.from, time.to].map((at) => timeOfDay(origin.value, at, zone.value));
  return (
    <li>
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
}

export function Figures({ explanation }: { explanation: Explanation }): JSX.Element | null {
  const { figures, baseline } = explanation;
  const isHealthy = explanation.slow.length === 0;
  if (figures.length === 0) return null;
  return (
    <section aria-label={isHealthy ? "Highest values" : "How slow"}>
      <dl class="figures">
        {figures.slice(0, isHealthy ? 8 : 4).map((figure) => (
          <div key={figure.says}>
            <dt>
              <Sentence text={figure.says} />
            </dt>
            <dd>{figureText(figure)}</dd>
          </div>
        ))}
      </dl>
      {!isHealthy && baseline.says !== "" && (
        <p class="compared muted">
          compared with <Sentence text={baseline.says} />
        </p>
      )}
    </section>
  );
}

function figureText({ value, baseline, unit }: Evidence): string {
  return baseline === null ? amount(value, unit) : change(baseline, value, unit);
}

/** Lasting changes, if nothing was slow. Each link shows the time after the change. */
export function Changes({ changes }: { changes: readonly Change[] }): JSX.Element | null {
  if (changes.length === 0) return null;
  return (
    <section class="changes" aria-label="What changed">
      <h2>What changed</h2>
      <ul class="slow-times">
        {changes.map((one) => (
          <ChangeLine key={`${one.says} ${one.at_ns}`} {...one} />
        ))}
      </ul>
    </section>
  );
}

function ChangeLine({ says, at_ns, before, after, unit, stack }: Change): JSX.Element {
  const time = { from: relative(at_ns), to: limits.value.to };
  const leaf = stack.split(";").find((frame) => frame !== "");
  return (
    <li>
      <button
        type="button"
        class="row-button"
        aria-pressed={sameInterval(picked.value, time)}
        onClick={() => pick(time)}
      >
        <time>{timeOfDay(origin.value, time.from, zone.value)}</time>{" "}
        <Sentence text={leaf === undefined ? says : `${says} in ${leaf}`} />{" "}
        <strong>{change(before, after, unit)}</strong>
      </button>
    </li>
  );
}
