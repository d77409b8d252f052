// The rows of the selection's flame graph, and more rows below a zoomed frame.

import { useRef, useState } from "preact/hooks";
import { graft } from "../../charts/flame_layout.ts";
import type { Baseline, FlameRows } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { isPair, selection, source, view } from "../../state/store.ts";

/** A frame larger than this already has all rows that can be visible. */
const CLOSE = 0.3;

export interface Flame {
  rows: FlameRows | null;
  error: string;
  waiting: boolean;
  /** The question that the rows answer. */
  answers: string;
  /** Identifies the question: another one shows another graph. */
  question: string;
  /** Requests the small frames below a zoomed frame. */
  more: (row: number) => void;
}

/** An answer with more rows below a zoomed frame. */
interface Closer {
  of: FlameRows | null;
  rows: FlameRows;
}

export function useFlame(): Flame {
  const from = source.value;
  const { inverted, folded, baseline } = view.value;
  const compared: Baseline = isPair.value ? { kind: "quiet" } : baseline;
  const query = { ...selection.value, inverted, baseline: compared };
  const question = JSON.stringify(query);
  const answer = useAnswer(from && query.event !== "" ? question : null, (signal) =>
    from ? from.flame(query, signal) : Promise.reject(new Error("no recording")),
  );
  const [closer, setCloser] = useState<Closer | null>(null);
  const rows = closer && closer.of === answer.value ? closer.rows : answer.value;
  const newest = useRef(rows);
  newest.current = rows;
  const more = (row: number): void => {
    if (!from || !rows || rows.cut === 0 || inverted || folded || rows.total[row] > CLOSE * rows.total[0]) return;
    // Frames that only another recording has cannot be requested.
    if (rows.node[row] === rows.node[0]) return;
    // Without an answer the frame is drawn without them.
    from.flame({ ...query, root: rows.node[row] }).then(
      (below) => {
        const isStillThere = newest.current === rows && below.name[0] === rows.name[row];
        if (isStillThere) setCloser({ of: answer.value, rows: graft(rows, row, below) });
      },
      () => undefined,
    );
  };
  return { rows, error: answer.error, waiting: answer.waiting, answers: answer.answers, question, more };
}
