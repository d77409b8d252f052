// All recordings of a folder as runs over time: latency, lost time by cause, and lasting changes.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clean } from "../../base/text.ts";
import type { Runs } from "../../data/runs.ts";
import { useAnswer } from "../../state/answer.ts";
import { printPage } from "../../state/appearance.ts";
import { isUnread, useFillingList } from "../../state/recordings.ts";
import { library, openHome } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import type { View } from "../view.ts";
import { Chart } from "./chart.tsx";
import { missingText, programsOf } from "./figures.ts";
import { Changes, RunTable } from "./tables.tsx";

function RunsOverTime(): JSX.Element {
  const recordings = library.value;
  const listed = useFillingList();
  // Each newly read recording may add a run.
  const read = listed.value?.filter((line) => !isUnread(line)).length;
  const question = recordings && read !== undefined ? `runs ${read}` : null;
  const answer = useAnswer(question, () => recordings?.runs() ?? Promise.reject(new Error("no recordings")));
  const error = listed.error || answer.error;
  return (
    <main class="recordings-view runs-view" aria-busy={answer.value === null && error === ""}>
      <p class="toolbar">
        <Button onClick={() => openHome("")}>all recordings</Button>
        <span class="spacer" />
        <Button kind="quiet" onClick={() => void printPage()}>
          Print
        </Button>
      </p>
      <h1>Runs over time</h1>
      {error && <Note>{error}</Note>}
      {answer.value && <Series series={answer.value} />}
    </main>
  );
}

function Series({ series }: { series: Runs }): JSX.Element {
  const [marked, mark] = useState<number | null>(null);
  const missing = missingText(series);
  const programs = programsOf(series.runs);
  // A shorter series may not have this run.
  const shown = marked !== null && marked < series.runs.length ? marked : null;
  return (
    <>
      {missing !== "" && <Note>{missing}.</Note>}
      {programs.length > 0 && (
        <Note>
          These are runs of {programs.length} programs ({clean(programs.join(", "), 200)}); a mark may be where one
          follows another.
        </Note>
      )}
      {series.runs.length > 0 && (
        <>
          <Chart series={series} marked={shown} onMark={mark} />
          <Changes series={series} />
          <RunTable series={series} marked={shown} onMark={mark} />
        </>
      )}
    </>
  );
}

export default {
  id: "runs",
  title: "Runs over time",
  place: "home",
  order: 20,
  Component: RunsOverTime,
} satisfies View;
