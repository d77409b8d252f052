// Each cause's share of the lost time: a bar whose parts always sum up to 100 %.

import type { JSX } from "preact";
import { share } from "../../base/numbers.ts";
import type { CauseVerdict } from "../../data/explanation.ts";
import { causeTitle } from "./words.ts";

export interface Part {
  id: string;
  share: number;
  /** The index of its colour; -1 for unexplained time. */
  colour: number;
}

/** The parts that have a share. The unexplained part comes last. */
export function partsOf(causes: readonly CauseVerdict[], unexplained: number): Part[] {
  const parts = causes.map((cause, colour) => ({ id: cause.id, share: cause.share, colour }));
  return [...parts, { id: "unexplained", share: unexplained, colour: -1 }].filter((part) => part.share > 0);
}

export function ShareBar({ parts }: { parts: readonly Part[] }): JSX.Element | null {
  if (parts.length === 0) return null;
  const words = parts.map((part) => `${causeTitle(part.id)} ${share(part.share)}`).join(", ");
  return (
    <div class="share-bar" role="img" aria-label={`Lost time: ${words}`}>
      {parts.map((part) => (
        <span
          key={part.id}
          class={part.colour < 0 ? "rest" : `cause-colour-${part.colour % 6}`}
          style={{ width: `${part.share * 100}%` }}
          title={`${causeTitle(part.id)} ${share(part.share)}`}
        />
      ))}
    </div>
  );
}
