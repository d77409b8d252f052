// The wording of shares and verdicts, the same as in the terminal, and what they mean.

import { amount } from "../../base/numbers.ts";
import { spaced } from "../../base/text.ts";
import type { CauseVerdict, Verdict } from "../../data/explanation.ts";
import { UNEXPLAINED } from "../../state/look.ts";
import { overview } from "../../state/store.ts";

/** A share as printed before a cause. All percentages add up. */
export function shareText(part: number, percent: number): string {
  if (percent > 0) return `${percent} %`;
  return part > 0 ? "<1 %" : "–";
}

export function verdictWord(verdict: Verdict): string {
  return verdict === "not_enough" ? "cannot tell" : spaced(verdict);
}

const MEANINGS: Record<Verdict, string> = {
  shown: "the mechanism was seen, and it covers this time",
  likely: "all signs fit, but the mechanism itself was not seen",
  possible: "some signs fit, or it was seen and cost little: not enough to act on",
  not_enough: "what would show it was not recorded",
  ruled_out: "a measurement excludes it",
};

export function verdictMeaning(verdict: Verdict): string {
  return MEANINGS[verdict];
}

/** The time for which causes are ruled out. Other times were not checked. */
export function heldWhen(from: string, to: string, slowTimes: number): string {
  const of = slowTimes === 0 ? "in all of" : slowTimes === 1 ? "within the slow" : "within the slow times of";
  return `${of} ${from}–${to}`;
}

/** Why a cause is ruled out: its sentence, else its first figure. */
export function exclusion({ says, evidence: [first] }: CauseVerdict): string {
  return says === "" && first ? `${first.says} ${amount(first.value, first.unit)}` : says;
}

/** Whether a cause did harm other than lost time, so that it has no share of that. */
export function isHarm({ share, verdict }: CauseVerdict): boolean {
  return share === 0 && (verdict === "shown" || verdict === "likely");
}

/** The name of a cause in the catalogue, or of the unexplained time; the id if the catalogue does not have it. */
export function causeTitle(id: string): string {
  return id === UNEXPLAINED ? "Unexplained" : (overview.value?.pages[id]?.name ?? id);
}
