// Two recordings in pictures: their latencies, and what explains the lost time of each.

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { duration, share } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import { Canvas } from "../../charts/canvas.tsx";
import { paletteFor } from "../../charts/palette.ts";
import { drawTails, lengthAt, type Tail, tailOf } from "../../charts/tail.ts";
import type { Overview } from "../../data/overview.ts";
import type { Comparison, Source } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isDark, safeColours } from "../../state/appearance.ts";
import { ghost } from "../../state/ghost.ts";
import { overview, port, source } from "../../state/store.ts";
import { Name } from "../../widgets/text.tsx";
import { causeTitle, verdictWord } from "../verdicts/words.ts";

const HEIGHT = 170;

/** The names of the two recordings. */
export interface Names {
  a: string;
  b: string;
}

export function Pictures({ comparison, names }: { comparison: Comparison; names: Names }): JSX.Element {
  const { causes } = comparison;
  return (
    <div class="compare-pictures">
      <p class="compare-names">
        <i class="mark a" /> <Name text={names.a} longest={70} /> <i class="mark b" />{" "}
        <Name text={names.b} longest={70} /> <GhostNote />
      </p>
      <Tails />
      <Bars causes={causes} />
    </div>
  );
}

/** How the other recording is aligned with the axis above. */
function GhostNote(): JSX.Element | null {
  if (!ghost.value) return null;
  const how = ghost.value.isBySlowTime ? "the slow times begin together" : "both begin together";
  return <span class="muted">dashed on the lanes above, where {how}</span>;
}

function Tails(): JSX.Element | null {
  const here = useTail(source.value, overview.value, port.value);
  const there = useTail(ghost.value?.source ?? null, ghost.value?.overview ?? null, port.value);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      const palette = paletteFor(isDark.value, safeColours.value);
      const lines = [
        ...(there ? [{ tail: there, colour: palette.muted, isDashed: true }] : []),
        ...(here ? [{ tail: here, colour: palette.accent, isDashed: false }] : []),
      ];
      drawTails(context, lines, width, height, palette, duration);
    },
    [here, there],
  );
  if (!(here?.requests || there?.requests)) return null;
  return (
    <section aria-label="How long requests took">
      <h3>How long requests took</h3>
      <Canvas draw={draw} height={HEIGHT} label="Part of the requests that took longer, of both recordings" />
      <p class="muted">
        {[0.5, 0.01].map((above) => (
          <span key={above}>
            {above === 0.5 ? "p50 " : " · p99 "}
            {[here, there].map((tail) => lengthText(tail, above)).join(" beside ")}
          </span>
        ))}
      </p>
    </section>
  );
}

function lengthText(tail: Tail | null, above: number): string {
  const length = tail ? lengthAt(tail, above) : null;
  return length === null ? "–" : duration(length);
}

/** The requests of the whole time, of a port or of the leading port. */
function useTail(from: Source | null, known: Overview | null, wanted: string): Tail | null {
  const lane = known?.lanes.find(({ kind }) => kind === "latency");
  const chosen = lane?.instances.includes(wanted) ? wanted : "";
  const query = { from: known?.from ?? 0, to: known?.to ?? 1, columns: 100, parts: 1, port: chosen };
  const { value } = useAnswer(from && lane ? JSON.stringify([query, known?.id]) : null, (signal) =>
    from ? from.latency(query, signal).then(tailOf) : Promise.reject(new Error("no recording")),
  );
  return lane ? value : null;
}

type Cause = Comparison["causes"][number];

/** The causes that explain anything in either recording, with a bar for each. */
function Bars({ causes }: { causes: readonly Cause[] }): JSX.Element {
  const says = ({ a_verdict, b_verdict }: Cause): boolean => [a_verdict, b_verdict].some(isNamed);
  const named = causes.filter((cause) => says(cause) || cause.a_share > 0 || cause.b_share > 0);
  const others = causes.filter((cause) => !named.includes(cause));
  return (
    <section aria-label="Causes of both">
      <h3>What explains the lost time</h3>
      {named.length === 0 && <p class="muted">Nothing in either.</p>}
      <ul class="pairs">
        {named.map((cause) => (
          <li key={cause.id} data-cause={cause.id}>
            <span class="pair-name">{causeTitle(cause.id)}</span>
            <Bar side="a" part={cause.a_share} verdict={cause.a_verdict} />
            <Bar side="b" part={cause.b_share} verdict={cause.b_verdict} />
          </li>
        ))}
      </ul>
      <p class="muted">{counted(others.length, "cause")} of the catalogue explain nothing in either.</p>
    </section>
  );
}

function isNamed(verdict: Cause["a_verdict"]): boolean {
  return verdict !== "ruled_out" && verdict !== "not_enough";
}

function Bar({ side, part, verdict }: { side: "a" | "b"; part: number; verdict: Cause["a_verdict"] }): JSX.Element {
  return (
    <span class={`pair ${side}`}>
      <span class="pair-track">
        <span style={{ width: `${part * 100}%` }} />
      </span>
      <span class="number">{part > 0 ? share(part) : "–"}</span>
      <span class={`verdict ${verdict}`}>{verdictWord(verdict)}</span>
    </span>
  );
}
