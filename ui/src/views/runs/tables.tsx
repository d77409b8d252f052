// The series as tables: its changes, what changed with them, and all runs.

import type { JSX } from "preact";
import { amount, duration } from "../../base/numbers.ts";
import { counted } from "../../base/text.ts";
import { dayAndTime, originOf } from "../../base/time.ts";
import type { Change, Runs } from "../../data/runs.ts";
import { openRecording, zone } from "../../state/store.ts";
import { Name } from "../../widgets/text.tsx";
import { figuresOf, haveRequests, lostOf, lostPer } from "./figures.ts";

/** A change needs this many runs on each side. */
const LEAST_PIECE = 3;
/** How many differences of a mark are shown at first: a new version of a program changes a hundred facts. */
const FIRST = 6;
const LONGEST = 160;
/** The number of causes named in a row. */
const CAUSES = 3;

export function Changes({ series }: { series: Runs }): JSX.Element {
  const { runs, marks, changes, false_alarms } = series;
  const rate = amount(false_alarms, "ratio");
  return (
    <section aria-label="Changes">
      <h2>Changes</h2>
      {marks.length > 0 && (
        <table class="data">
          <thead>
            <tr>
              {["from run", "by", "with it"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {marks.map(({ at }, index) => (
              <tr key={at}>
                <td>
                  {at + 1} · <Name text={runs[at].name} longest={40} />
                </td>
                <td class="nobr">{changes[index].by}</td>
                <td>
                  <WithIt change={changes[index]} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="muted">
        {marks.length > 0 || runs.length >= 2 * LEAST_PIECE
          ? `${marks.length > 0 ? "Found" : "None found"} by E-divisive; ${rate} of series without a change get a mark.`
          : `None can be found: a change needs ${LEAST_PIECE} runs on each side.`}
      </p>
    </section>
  );
}

function WithIt({ change }: { change: Change }): JSX.Element {
  const { with_it } = change;
  const item = (says: string): JSX.Element => (
    <li key={says}>
      <Name text={says} longest={LONGEST} />
    </li>
  );
  const more = with_it.slice(FIRST);
  return (
    <>
      <ul>{with_it.slice(0, FIRST).map(item)}</ul>
      {more.length > 0 && (
        <details>
          <summary>{counted(more.length, "more")}</summary>
          <ul>{more.map(item)}</ul>
        </details>
      )}
    </>
  );
}

interface Marking {
  marked: number | null;
  onMark: (run: number | null) => void;
}

export function RunTable({ series, ...marking }: Marking & { series: Runs }): JSX.Element {
  const { runs } = series;
  const titles = runs.length > 0 ? figuresOf(runs[0], haveRequests(runs)).map(([title]) => title) : [];
  return (
    <section aria-label="All runs">
      <h2>All runs</h2>
      <table class="data">
        <thead>
          <tr>
            <th scope="col" class="number">
              run
            </th>
            <th scope="col">recording</th>
            <th scope="col">began</th>
            {[...titles, `lost per ${lostPer(runs)}`].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
            <th scope="col">causes</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((_, run) => (
            <Row key={series.recordings[run]} series={series} run={run} {...marking} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row(properties: Marking & { series: Runs; run: number }): JSX.Element {
  const { series, run, marked, onMark } = properties;
  const { name, from_ns } = series.runs[run];
  const lost = lostOf(series, run);
  const isChanged = series.marks.some(({ at }) => at === run);
  return (
    <tr
      class={run === marked ? "marked" : undefined}
      onClick={() => openRecording(series.recordings[run])}
      onPointerEnter={() => onMark(run)}
      onPointerLeave={() => onMark(null)}
    >
      <td class="number">
        {isChanged && <span class="changed">▶ </span>}
        {run + 1}
      </td>
      <td>
        <button type="button" class="row-button strong" onFocus={() => onMark(run)} onBlur={() => onMark(null)}>
          <Name text={name} longest={60} />
        </button>
      </td>
      <td class="nobr">{dayAndTime(originOf(String(from_ns)), zone.value)}</td>
      {figuresOf(series.runs[run], haveRequests(series.runs)).map(([title, text]) => (
        <td key={title} class="number">
          {text}
        </td>
      ))}
      <td class="number">{lost.length > 0 ? duration(lost.reduce((sum, { ns }) => sum + ns, 0)) : "–"}</td>
      <td>
        <Name
          text={lost
            .slice(0, CAUSES)
            .map((one) => one.name)
            .join(", ")}
          longest={90}
        />
      </td>
    </tr>
  );
}
