// The worst instants of the open cause. Each has a flag on the axis, and a click goes there.

import type { JSX } from "preact";
import { timeOfDay } from "../../base/time.ts";
import { goTo, origin, worst, zone } from "../../state/store.ts";
import { Sentence } from "../../widgets/text.tsx";

export function WorstInstants(): JSX.Element | null {
  if (worst.value.length === 0) return null;
  return (
    <ol class="worst" aria-label="Worst instants">
      {worst.value.map((one, index) => (
        <li key={one.from}>
          <button type="button" class="row-button" onClick={() => goTo(one)}>
            <span class="flag-sign" aria-hidden="true">
              {index + 1}
            </span>{" "}
            <time>{timeOfDay(origin.value, one.from, zone.value, 1)}</time> <Sentence text={one.says} />
          </button>
        </li>
      ))}
    </ol>
  );
}
