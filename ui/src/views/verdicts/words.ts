// How shares and verdicts are put, the same as in the terminal, and what they mean.

import { capitalised, spaced } from "../../base/text.ts";
import type { CauseVerdict, Verdict } from "../../data/explanation.ts";

/** A share as it stands before a cause; the percents of all add up. */
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

/** Whether a cause did harm other than lost time, so that it has no share of that. */
export function isHarm({ share, verdict }: CauseVerdict): boolean {
  return share === 0 && (verdict === "shown" || verdict === "likely");
}

/** Words of ids that are written in their own way. */
const OWN: Record<string, string> = { cpu: "CPU", dns: "DNS", gc: "GC", jit: "JIT", nmethod: "nmethod" };

/** The id of a cause as people write it: `gc_log_blocked` → `GC log blocked`. */
export function causeTitle(id: string): string {
  const [first, ...others] = id.split("_");
  return [OWN[first] ?? capitalised(first), ...others.map((word) => OWN[word] ?? word)].join(" ");
}
