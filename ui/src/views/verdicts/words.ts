// How shares and verdicts are put, the same as in the terminal.

import { spaced } from "../../base/text.ts";
import type { Verdict } from "../../data/explanation.ts";

/** A share as it stands before a cause; the percents of all add up. */
export function shareText(part: number, percent: number): string {
  if (percent > 0) return `${percent} %`;
  return part > 0 ? "<1 %" : "–";
}

export function verdictWord(verdict: Verdict): string {
  return verdict === "not_enough" ? "cannot tell" : spaced(verdict);
}
