// Compares two recordings: different facts, the verdict, each cause, and a differential flame graph one click away.

import type { JSX } from "preact";
import { amount, duration } from "../../base/numbers.ts";
import type { RecordingLine } from "../../data/overview.ts";
import type { ComparedRecording, Comparison } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { nameOf, useRecordings } from "../../state/recordings.ts";
import { compareWith, library, update, view, zone } from "../../state/store.ts";
import { Button, Note, Select } from "../../widgets/controls.tsx";
import { Name, Sentence } from "../../widgets/text.tsx";
import type { View } from "../view.ts";
import { Facts } from "./facts.tsx";
import { type Names, Pictures } from "./pictures.tsx";

function Compare(): JSX.Element {
  const recordings = library.value;
  const { recording, other } = view.value;
  const listed = useRecordings();
  const asked = recordings?.many && recording !== null && other !== null ? `${recording} ${other}` : null;
  const answer = useAnswer(asked, () => {
    if (!recordings || recording === null || other === null) throw new Error("nothing to compare with");
    return recordings.compare(recording, other);
  });
  if (!recordings?.many)
    return <Note>This file holds one recording. To compare two, serve both: fathom open FOLDER.</Note>;
  const others = listed.filter(({ id, error }) => id !== recording && error === null);
  return (
    <div class="compare-view">
      <div class="toolbar">
        <Select
          label="Compare with"
          value={other === null ? "" : String(other)}
          choices={[
            ["", "choose a recording"],
            ...others.map(({ id }) => [String(id), nameOf(listed, id, zone.value)] as const),
          ]}
          onChange={(id) => update({ other: id === "" ? null : Number(id) })}
        />
        {other !== null && (
          <Button
            onClick={() => {
              compareWith({ kind: "recording", id: other });
              update({ tab: "flame" });
            }}
          >
            differential flame graph
          </Button>
        )}
      </div>
      {answer.error && <Note>{answer.error}</Note>}
      {other === null && <Note>The other recording may be the same service before, or with the fix.</Note>}
      {answer.value && other !== null && <SideBySide comparison={answer.value} listed={listed} />}
    </div>
  );
}

function SideBySide(properties: { comparison: Comparison; listed: readonly RecordingLine[] }): JSX.Element {
  const { comparison, listed } = properties;
  const { a, b } = comparison;
  const names = { a: nameOf(listed, a.id, zone.value), b: nameOf(listed, b.id, zone.value) };
  return (
    <>
      <Facts facts={comparison.facts} names={names} />
      <section aria-label="Verdict">
        <h3>Verdict</h3>
        <p>
          <Sentence text={comparison.verdict.says} />
        </p>
        {comparison.verdict.because.map(({ kind, says }) => (
          <p key={kind} class="muted">
            <Sentence text={says} />
          </p>
        ))}
      </section>
      <Pictures comparison={comparison} names={names} />
      <Numbers a={a} b={b} names={names} />
    </>
  );
}

/** The measurements of both. */
function Numbers({ a, b, names }: Pick<Comparison, "a" | "b"> & { names: Names }): JSX.Element {
  const figures = [...new Set([...a.figures, ...b.figures].map(({ says }) => says))];
  return (
    <table class="data compare">
      <thead>
        <tr>
          <th scope="col" />
          <Heading recording={a} name={names.a} />
          <Heading recording={b} name={names.b} />
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">slow</th>
          <td>{slowText(a)}</td>
          <td>{slowText(b)}</td>
        </tr>
        {figures.map((says) => (
          <tr key={says}>
            <th scope="row">{says}</th>
            <td>{figureText(a, says)}</td>
            <td>{figureText(b, says)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Heading({ recording, name }: { recording: ComparedRecording; name: string }): JSX.Element {
  return (
    <th scope="col">
      <Name text={name} longest={70} />
      <br />
      <span class="faint">
        <Name text={[recording.title, recording.jvm].filter((part) => part !== "").join(" · ")} longest={70} />
      </span>
    </th>
  );
}

function slowText({ headline, slow_ns, duration_ns }: ComparedRecording): string {
  return headline.kind !== "slow" ? headline.says : `${duration(slow_ns)} of ${duration(duration_ns)}`;
}

function figureText({ figures }: ComparedRecording, says: string): string {
  const figure = figures.find((one) => one.says === says);
  return figure ? amount(figure.value, figure.unit) : "–";
}

export default { id: "compare", title: "Compare", place: "detail", order: 70, Component: Compare } satisfies View;
