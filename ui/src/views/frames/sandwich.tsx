// One frame between its callers and its callees.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { layout } from "../../charts/flame_layout.ts";
import { useAnswer } from "../../state/answer.ts";
import { selection, source, update } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { FlameCanvas } from "../../widgets/flame_canvas.tsx";
import { Name } from "../../widgets/text.tsx";

export function Sandwich({ frame }: { frame: string }): JSX.Element {
  return (
    <section class="sandwich" aria-label="Callers and callees">
      <h2>
        <Name text={frame} longest={120} />
        <Button kind="link" onClick={() => update({ frame: "" })}>
          close
        </Button>
      </h2>
      <Side frame={frame} side="callers" title="Called by" />
      <Side frame={frame} side="callees" title="Calls" />
    </section>
  );
}

function Side({ frame, side, title }: { frame: string; side: "callers" | "callees"; title: string }): JSX.Element {
  const from = source.value;
  const query = { ...selection.value, frame, side };
  const question = JSON.stringify(query);
  const [zoom, setZoom] = useState({ of: "", row: 0 });
  const answer = useAnswer(from ? question : null, (signal) =>
    from ? from.sandwich(query, signal) : Promise.reject(new Error("no recording")),
  );
  const flame = useMemo(
    () => (answer.value && answer.value.depth.length > 0 ? layout(answer.value) : null),
    [answer.value],
  );
  const matches = useMemo(() => ({ rows: new Uint8Array(flame?.rows.depth.length ?? 0), share: 0, count: 0 }), [flame]);
  return (
    <div>
      <h3>{title}</h3>
      {answer.error && <Note>{answer.error}</Note>}
      {flame && flame.rows.total[0] > 0 ? (
        <FlameCanvas
          flame={flame}
          matches={matches}
          isSearching={false}
          isCompared={false}
          identity={question}
          zoomed={zoom.of === question ? zoom.row : 0}
          onZoom={(row) => setZoom({ of: question, row })}
        />
      ) : (
        !answer.waiting && <Note>Not in what is picked.</Note>
      )}
    </div>
  );
}
