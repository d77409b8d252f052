// The recordings of the served folder. The slow ones are highlighted.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { amount, duration, share } from "../../base/numbers.ts";
import { clean, spaced } from "../../base/text.ts";
import { dayAndTime, originOf } from "../../base/time.ts";
import type { RecordingLine } from "../../data/overview.ts";
import { isUnread, nameOf, useFillingList } from "../../state/recordings.ts";
import { openCompared, openHome, openOnly, openRecording, zone } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import type { View } from "../view.ts";
import { useWatched, WatchedJvms } from "./watched.tsx";

const NONE = "There are no recordings in this folder.";
const NONE_SO_FAR = "Nothing was recorded so far.";

function Recordings(): JSX.Element {
  const answer = useFillingList();
  const lines = answer.value ?? [];
  const watched = useWatched();
  // With a single recording there is nothing to choose, and no service that watches.
  const isAlone = lines.length === 1 && watched.answers !== "" && watched.value === null;
  const only = isAlone && lines[0].error === null ? lines[0].id : null;
  useEffect(() => {
    if (only !== null) openOnly(only);
  }, [only]);
  return (
    <main class="recordings-view">
      {watched.value && <WatchedJvms watched={watched.value} />}
      <h1>Recordings</h1>
      {answer.error && <Note>{answer.error}</Note>}
      {answer.value && lines.length === 0 && <Note>{watched.value ? NONE_SO_FAR : NONE}</Note>}
      {lines.length > 0 && <Table lines={lines} />}
    </main>
  );
}

function Table({ lines }: { lines: readonly RecordingLine[] }): JSX.Element {
  const [ticked, tick] = useState<readonly number[]>([]);
  // Two recordings are compared: a third one replaces the first.
  const toggle = (id: number): void =>
    tick(ticked.includes(id) ? ticked.filter((other) => other !== id) : [...ticked, id].slice(-2));
  return (
    <>
      {lines.length > 1 && <Tools ticked={ticked} lines={lines} />}
      <Rows lines={lines} ticked={ticked} onTick={toggle} />
    </>
  );
}

/** Explains what two ticks do, and offers actions for all recordings. */
function Tools({ ticked, lines }: { ticked: readonly number[]; lines: readonly RecordingLine[] }): JSX.Element {
  // The first in the list is the one that is opened. The other is compared with it.
  const [a, b] = lines.filter(({ id }) => ticked.includes(id));
  return (
    <p class="toolbar">
      <Button disabled={!b} onClick={() => b && openCompared(a.id, b.id)}>
        compare
      </Button>
      <span class="muted">
        {b ? (
          <>
            <Name text={nameOf(lines, a.id, zone.value)} longest={70} /> with{" "}
            <Name text={nameOf(lines, b.id, zone.value)} longest={70} />
          </>
        ) : (
          "tick two recordings"
        )}
      </span>
      <span class="spacer" />
      <Button onClick={() => openHome("runs")}>runs over time</Button>
    </p>
  );
}

interface Ticks {
  ticked: readonly number[];
  onTick: (id: number) => void;
}

function Rows({ lines, ...ticks }: Ticks & { lines: readonly RecordingLine[] }): JSX.Element {
  return (
    <table class="data">
      <thead>
        <tr>
          {lines.length > 1 && (
            <th scope="col">
              <span class="hidden">compare</span>
            </th>
          )}
          {["recording", "began", "length", "slow", "first cause", "size"].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <Line key={line.id} line={line} ticks={lines.length > 1 ? ticks : null} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ line, ticks }: { line: RecordingLine; ticks: Ticks | null }): JSX.Element {
  if (line.error !== null) {
    return (
      <tr>
        {ticks && <td />}
        <td>
          <Name text={line.name} longest={60} />
        </td>
        <td colSpan={5} class="muted">
          <Name text={line.error} longest={300} />
        </td>
      </tr>
    );
  }
  return (
    <tr onClick={() => openRecording(line.id)}>
      {ticks && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the box inside takes the keys; this keeps a click beside it from opening
        <td onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            aria-label={`compare ${clean(line.name, 60)}`}
            checked={ticks.ticked.includes(line.id)}
            onChange={() => ticks.onTick(line.id)}
          />
        </td>
      )}
      <td>
        <button type="button" class="row-button strong">
          <Name text={line.name} longest={60} />
        </button>
        <br />
        <span class="faint">
          <Name text={[line.title, line.jvm].filter((part) => part).join(" · ")} longest={80} />
        </span>
      </td>
      <td>{line.from_ns === null ? "" : dayAndTime(originOf(line.from_ns), zone.value)}</td>
      <td class="number">{line.duration_ns === null ? "" : duration(line.duration_ns)}</td>
      <td class="number">{line.slow_ns ? duration(line.slow_ns) : "–"}</td>
      <td>
        <Answer line={line} />
      </td>
      <td class="number muted">{amount(line.bytes, "bytes")}</td>
    </tr>
  );
}

function Answer({ line }: { line: RecordingLine }): JSX.Element {
  if (isUnread(line)) return <span class="muted">not opened yet</span>;
  if (line.headline?.kind !== "slow") return <span class="muted">{line.headline?.says}</span>;
  if (line.first_cause === null) return <span class="muted">no cause was found</span>;
  return (
    <>
      <span title={line.first_cause}>{line.first_cause_name ?? line.first_cause}</span>{" "}
      {line.verdict && <span class={`verdict ${line.verdict}`}>{spaced(line.verdict)}</span>}{" "}
      {line.share !== null && share(line.share)}
    </>
  );
}

export default {
  id: "recordings",
  title: "Recordings",
  place: "home",
  order: 10,
  Component: Recordings,
} satisfies View;
