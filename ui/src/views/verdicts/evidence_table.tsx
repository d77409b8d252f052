// The measurements behind a cause. Each links to its data.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { amount } from "../../base/numbers.ts";
import type { CauseVerdict, Evidence } from "../../data/explanation.ts";
import { isForPaper } from "../../state/appearance.ts";
import { type Shown, shownBy } from "../../state/evidence.ts";
import { pointAt } from "../../state/flash.ts";
import { overview, pick, relative, view } from "../../state/store.ts";
import { Button } from "../../widgets/controls.tsx";
import { Sentence } from "../../widgets/text.tsx";

/** How many measurements are shown by default: as many as in the terminal. */
const SHOWN = 4;

/** Each measurement against its baseline. A click on the row shows its data. */
export function EvidenceTable({ cause }: { cause: CauseVerdict }): JSX.Element | null {
  const [isWhole, setWhole] = useState(false);
  const { evidence } = cause;
  if (evidence.length === 0) return null;
  const hidden = isWhole || isForPaper.value ? 0 : Math.max(evidence.length - SHOWN, 0);
  return (
    <>
      <table class="evidence">
        <thead>
          <tr>
            <th scope="col">evidence</th>
            <th scope="col" class="number">
              slow
            </th>
            <th scope="col" class="number">
              baseline
            </th>
          </tr>
        </thead>
        <tbody>
          {evidence.slice(0, evidence.length - hidden).map((item, index) => (
            <EvidenceRow key={index} cause={cause} item={item} />
          ))}
        </tbody>
      </table>
      {hidden > 0 && (
        <Button kind="link" onClick={() => setWhole(true)}>
          {hidden} more
        </Button>
      )}
    </>
  );
}

function EvidenceRow({ cause, item }: { cause: CauseVerdict; item: Evidence }): JSX.Element {
  const known = overview.value;
  const shown = known && shownBy(item, cause.look, known, view.value);
  const says = <Sentence text={item.says} />;
  return (
    <tr
      class={shown ? "link" : ""}
      onClick={() => shown && follow(cause, item, shown)}
      title={shown ? `show the ${item.table} that this was read from` : undefined}
    >
      <td>
        {shown ? (
          <button type="button" class="row-button">
            {says}
          </button>
        ) : (
          says
        )}
        <Bars value={item.value} baseline={item.baseline} />
      </td>
      <td class="number">{amount(item.value, item.unit)}</td>
      <td class="number muted">{item.baseline === null ? "" : amount(item.baseline, item.unit)}</td>
    </tr>
  );
}

function follow(cause: CauseVerdict, item: Evidence, { change, lanes, isBelow }: Shown): void {
  const time = { from: relative(item.from_ns), to: relative(item.to_ns) };
  pick(time.to > time.from ? time : null, { cause: cause.id, ...change });
  pointAt(lanes, isBelow);
}

/** Two bars, one above the other: lengths are faster to compare than digits. */
function Bars({ value, baseline }: { value: number; baseline: number | null }): JSX.Element | null {
  if (baseline === null || !(value >= 0) || !(baseline >= 0)) return null;
  const most = Math.max(value, baseline);
  if (most === 0) return null;
  return (
    <span class="bars" aria-hidden="true">
      <span style={{ width: `${(value / most) * 100}%` }} />
      <span style={{ width: `${(baseline / most) * 100}%` }} />
    </span>
  );
}
