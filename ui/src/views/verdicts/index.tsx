// The answer in the order of the reader's questions: was it slow, why, what to do. Then the basis, and what was
// ruled out or not observed.

import type { JSX } from "preact";
import type { CauseVerdict, Explanation } from "../../data/explanation.ts";
import { overview } from "../../state/store.ts";
import type { View } from "../view.ts";
import { Causes } from "./cause_list.tsx";
import { Changes, Figures, Headline, Reservations } from "./headline.tsx";
import { CannotTell, Losses, RuledOut } from "./lists.tsx";

function Verdicts(): JSX.Element | null {
  const known = overview.value;
  if (!known) return null;
  const { explanation } = known;
  return (
    <div class="verdicts">
      <Headline explanation={explanation} />
      {explanation.slow.length > 0 && <Causes explanation={explanation} />}
      {explanation.slow.length === 0 && <Changes changes={explanation.changed ?? []} />}
      <Figures explanation={explanation} />
      {explanation.slow.length > 0 && <Reservations explanation={explanation} />}
      <RuledOut causes={withVerdict(explanation, "ruled_out")} />
      <CannotTell causes={withVerdict(explanation, "not_enough")} />
      <Losses losses={explanation.losses} />
    </div>
  );
}

function withVerdict({ causes }: Explanation, verdict: CauseVerdict["verdict"]): CauseVerdict[] {
  return causes.filter((cause) => cause.verdict === verdict);
}

export default { id: "verdicts", title: "Verdicts", place: "side", order: 10, Component: Verdicts } satisfies View;
