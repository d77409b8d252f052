// Two recordings side by side: what is said of each cause, and a differential flame graph one click away.

import type { JSX } from "preact";
import { amount, duration, share } from "../../base/numbers.ts";
import type { ComparedRecording, Comparison } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { compareWith, library, update, view } from "../../state/store.ts";
import { Button, Note, Select } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import { verdictWord } from "../verdicts/words.ts";
import type { View } from "../view.ts";

function Compare(): JSX.Element {
  const recordings = library.value;
  const { recording, other } = view.value;
  const listed = useAnswer(
    recordings?.many ? "recordings" : null,
    () => recordings?.recordings() ?? Promise.resolve([]),
  );
  const asked = recordings?.many && recording !== null && other !== null ? `${recording} ${other}` : null;
  const answer = useAnswer(asked, () => {
    if (!recordings || recording === null || other === null) throw new Error("nothing to compare with");
    return recordings.compare(recording, other);
  });
  if (!recordings?.many)
    return <Note>This file holds one recording. To compare two, serve both: fathom open FOLDER.</Note>;
  const others = (listed.value ?? []).filter(({ id, error }) => id !== recording && error === null);
  return (
    <div class="compare-view">
      <div class="toolbar">
        <Select
          label="Compare with"
          value={other === null ? "" : String(other)}
          choices={[["", "choose a recording"], ...others.map(({ id, name }) => [String(id), name] as const)]}
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
      {answer.value && other !== null && <SideBySide comparison={answer.value} />}
    </div>
  );
}

function SideBySide({ comparison: { a, b, causes } }: { comparison: Comparison }): JSX.Element {
  const figures = [...new Set([...a.figures, ...b.figures].map(({ says }) => says))];
  return (
    <table class="data compare">
      <thead>
        <tr>
          <th scope="col" />
          <Heading recording={a} />
          <Heading recording={b} />
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
        {causes.map((cause) => (
          <tr key={cause.id}>
            <th scope="row">
              <code>{cause.id}</code>
            </th>
            <ShareCell part={cause.a_share} verdict={cause.a_verdict} />
            <ShareCell part={cause.b_share} verdict={cause.b_verdict} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Heading({ recording }: { recording: ComparedRecording }): JSX.Element {
  return (
    <th scope="col">
      <Name text={recording.name} longest={50} />
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

function ShareCell({
  part,
  verdict,
}: {
  part: number;
  verdict: Comparison["causes"][number]["a_verdict"];
}): JSX.Element {
  return (
    <td>
      <span class={`verdict ${verdict}`}>{verdictWord(verdict)}</span> {part > 0 && share(part)}
    </td>
  );
}

export default { id: "compare", title: "Compare", place: "detail", order: 70, Component: Compare } satisfies View;
