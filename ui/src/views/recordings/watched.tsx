// The status of `fathom watch`: each JVM with its last hour of latency, and what was recorded and why.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { amount, share } from "../../base/numbers.ts";
import { grouped, spaced } from "../../base/text.ts";
import { day, originOf, timeOfDay } from "../../base/time.ts";
import { barsOf, byTrouble, linesOf, MINUTES } from "../../charts/minutes.ts";
import type { Incident, Watched, WatchedJvm, WatchedMinute } from "../../data/watched.ts";
import { type Answer, useAnswer } from "../../state/answer.ts";
import { library, openRecording, zone } from "../../state/store.ts";
import { Button, Note } from "../../widgets/controls.tsx";
import { Name, Sentence } from "../../widgets/text.tsx";

/** The resolution is a minute. */
const REFRESH_MS = 15_000;

const WIDTH = 366;
const HEIGHT = 34;
/** Space for the scale next to the bars, and for one of its labels. */
const SCALE = 44;
const LABEL = 12;

/** How many incidents are listed above the JVMs, so that both fit the first screen. */
const FIRST_INCIDENTS = 5;

/** The status, polled as long as there is one. */
export function useWatched(): Answer<Watched | null> {
  const recordings = library.value;
  const [asked, setAsked] = useState(0);
  const answer = useAnswer(recordings ? `watched ${asked}` : null, async () => (await recordings?.watched()) ?? null);
  useEffect(() => {
    if (!answer.value) return;
    const timer = setTimeout(() => setAsked((times) => times + 1), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [answer.value]);
  return answer;
}

export function WatchedJvms({ watched }: { watched: Watched }): JSX.Element {
  const { jvms, incidents } = watched;
  return (
    <section class="watched">
      <h1>Watched JVMs</h1>
      <p class="muted">
        {watched.is_running ? "The service runs." : "The service does not run."} Bars are minutes of the last hour, red
        where there was a reason to record: the 95th percentile, and paler the longest request, on a logarithmic scale.
      </p>
      {incidents.length > 0 && <Incidents incidents={incidents} />}
      {jvms.length === 0 && <Note>Nothing was seen in the last hour.</Note>}
      {jvms.length > 0 && <Jvms watched={watched} />}
    </section>
  );
}

function Jvms({ watched }: { watched: Watched }): JSX.Element {
  const longest_ms = Math.max(...watched.jvms.flatMap(({ minutes }) => minutes.map(({ max_ms }) => max_ms ?? 0)));
  return (
    <table class="data">
      <thead>
        <tr>
          <th scope="col">JVM</th>
          <th scope="col" class="number">
            requests
          </th>
          <th scope="col" class="number">
            95th percentile
          </th>
          <th scope="col" class="number">
            longest stop
          </th>
          <th scope="col">last hour of latency</th>
        </tr>
      </thead>
      <tbody>
        {byTrouble(watched.jvms).map((jvm) => (
          <Jvm key={`${jvm.pid} ${jvm.service}`} jvm={jvm} from_ns={watched.from_ns} longest_ms={longest_ms} />
        ))}
      </tbody>
    </table>
  );
}

function Jvm(properties: { jvm: WatchedJvm; from_ns: string; longest_ms: number }): JSX.Element {
  const { jvm, from_ns, longest_ms } = properties;
  const last = jvm.minutes[jvm.minutes.length - 1];
  const about = [`pid ${jvm.pid}`, jvm.java && `JDK ${jvm.java}`, jvm.collector, jvm.container];
  return (
    <tr>
      <td>
        <strong>
          <Name text={jvm.service || "java"} longest={50} />
        </strong>
        <br />
        <span class="faint">
          <Name text={about.filter((part) => part).join(" · ")} longest={70} />
        </span>
      </td>
      <td class="number">{rate(last)}</td>
      <td class="number">{latency(last.p95_ms)}</td>
      <td class="number">{latency(Math.max(...jvm.minutes.map(({ stop_ms }) => stop_ms ?? 0)))}</td>
      <td>
        <Hour jvm={jvm} from_ns={from_ns} longest_ms={longest_ms} />
      </td>
    </tr>
  );
}

function Hour(properties: { jvm: WatchedJvm; from_ns: string; longest_ms: number }): JSX.Element {
  const { jvm, from_ns, longest_ms } = properties;
  const bars = barsOf(jvm.minutes, longest_ms, WIDTH, HEIGHT);
  const highest = Math.max(...jvm.minutes.map(({ p95_ms }) => p95_ms ?? 0));
  const says = highest > 0 ? `95th percentile of each minute, ${latency(highest)} at most` : "no requests were seen";
  return (
    <svg
      class="hour"
      width={WIDTH + SCALE}
      height={HEIGHT + LABEL}
      viewBox={`0 ${-LABEL / 2} ${WIDTH + SCALE} ${HEIGHT + LABEL}`}
      role="img"
      aria-label={says}
    >
      {linesOf(longest_ms, HEIGHT, LABEL).map(({ ms, y }) => (
        <g key={ms} class="mark">
          <line x1={0} x2={WIDTH} y1={y} y2={y} />
          <text x={WIDTH + 4} y={y + 3.5}>
            {latency(ms)}
          </text>
        </g>
      ))}
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {bars.map(({ at, x, width, height, longest, isIll }) => (
        <g key={at} class={isIll ? "ill" : undefined}>
          <title>{minuteSays(jvm.minutes, at, from_ns)}</title>
          <rect class="all" x={x} y={0} width={WIDTH / MINUTES} height={HEIGHT} />
          <rect class="longest" x={x} y={HEIGHT - longest} width={width} height={longest} />
          <rect x={x} y={HEIGHT - height} width={width} height={height} />
        </g>
      ))}
    </svg>
  );
}

function minuteSays(minutes: readonly WatchedMinute[], at: number, from_ns: string): string {
  const minute = minutes.find((one) => one.at === at);
  const time = timeOfDay(originOf(from_ns), at * 60e9, zone.value);
  const parts = [
    minute?.p95_ms != null && `95th percentile ${latency(minute.p95_ms)}`,
    minute?.max_ms != null && `longest ${latency(minute.max_ms)}`,
    minute?.requests != null && `${minute.requests} requests`,
    minute?.triggers && spaced(minute.triggers),
  ];
  return `${time}: ${parts.filter((part) => part).join(", ")}`;
}

/** The newest incidents; the others on request. */
function Incidents({ incidents }: { incidents: readonly Incident[] }): JSX.Element {
  const [isAll, showAll] = useState(false);
  const shown = isAll ? incidents : incidents.slice(0, FIRST_INCIDENTS);
  return (
    <div class="incidents">
      <h2>Incidents</h2>
      <IncidentTable incidents={shown} />
      {incidents.length > FIRST_INCIDENTS && (
        <Button kind="link" onClick={() => showAll(!isAll)}>
          {isAll ? "only the newest" : `all ${grouped(incidents.length)} incidents`}
        </Button>
      )}
    </div>
  );
}

function IncidentTable({ incidents }: { incidents: readonly Incident[] }): JSX.Element {
  return (
    <table class="data">
      <thead>
        <tr>
          {["when", "JVM", "why", "answer"].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {incidents.map((incident) => (
          <Line key={incident.id} incident={incident} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ incident }: { incident: Incident }): JSX.Element {
  const { recording, at_ns, service, pid, why, times_today } = incident;
  const time = at_ns === null ? incident.id : whenOf(at_ns);
  return (
    <tr onClick={recording === null ? undefined : () => openRecording(recording)}>
      <td class="nobr">
        {recording === null ? (
          <span title="The recording is gone, or newer than this server">{time}</span>
        ) : (
          <button type="button" class="row-button strong">
            {time}
          </button>
        )}
      </td>
      <td>
        <Name text={service ?? "found after a crash"} longest={40} />
        {pid !== null && <span class="faint"> {pid}</span>}
      </td>
      <td>
        {why !== null && <Sentence text={why} />}
        {times_today > 1 && <span class="faint"> ({times_today} times today)</span>}
      </td>
      <td>
        <Verdict incident={incident} />
      </td>
    </tr>
  );
}

function Verdict({ incident: { cause, verdict, share: part, says } }: { incident: Incident }): JSX.Element {
  if (cause === null) return <span class="muted">{<Sentence text={says} />}</span>;
  return (
    <>
      <code>{cause}</code> {verdict && <span class={`verdict ${verdict}`}>{spaced(verdict)}</span>}{" "}
      {part !== null && share(part)}
      <br />
      <span class="faint">
        <Sentence text={says} />
      </span>
    </>
  );
}

function whenOf(at_ns: string): string {
  const origin = originOf(at_ns);
  return `${day(origin, 0, zone.value)} ${timeOfDay(origin, 0, zone.value)}`;
}

function rate({ requests, seconds }: WatchedMinute): string {
  return requests === null || !seconds ? "–" : `${amount(requests / seconds, "count")}/s`;
}

function latency(ms: number | null): string {
  return ms === null || ms === 0 ? "–" : amount(ms * 1e6, "ns");
}
