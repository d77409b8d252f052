// The subject of the page, and actions for all of it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { clean } from "../base/text.ts";
import { day, timeOfDay, zoneName } from "../base/time.ts";
import type { RecordingSummary } from "../data/explanation.ts";
import { printPage, safeColours, type Theme, theme } from "../state/appearance.ts";
import { library, limits, openRecording, origin, overview, source, zone } from "../state/store.ts";
import { Button, CopyButton } from "../widgets/controls.tsx";
import { Name } from "../widgets/text.tsx";
import { Keys } from "./keys.tsx";

const NEXT_THEME: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** How much could be observed. */
const TIERS = ["files and the JVM alone", "perf events as well", "the kernel as well, by BPF"];

export function Header(): JSX.Element {
  const known = overview.value;
  const title = known ? clean(known.explanation.recording.title, 80) : "";
  useEffect(() => {
    document.title = title === "" ? "Fathom" : `${title} · Fathom`;
  }, [title]);
  return (
    <header class="top">
      <span class="brand">Fathom</span>
      {known && <About recording={known.explanation.recording} />}
      <span class="spacer" />
      {known && <CopyButton title="Copy as Markdown" text={async () => (await source.peek()?.markdown()) ?? ""} />}
      {known && library.value?.many && (
        <Button kind="quiet" onClick={() => openRecording(null)}>
          Recordings
        </Button>
      )}
      {known && (
        <Button kind="quiet" onClick={() => void printPage()} title="all rows, nothing folded">
          Print
        </Button>
      )}
      {known && <Keys />}
      <Button
        kind="quiet"
        pressed={safeColours.value}
        title="colours that people with any kind of colour vision can tell apart"
        onClick={() => {
          safeColours.value = !safeColours.peek();
        }}
      >
        Safe colours
      </Button>
      <Button
        kind="quiet"
        title="light, dark, or as the system has it"
        onClick={() => {
          theme.value = NEXT_THEME[theme.peek()];
        }}
      >
        {theme.value === "auto" ? "Theme: system" : `Theme: ${theme.value}`}
      </Button>
    </header>
  );
}

function About({ recording }: { recording: RecordingSummary }): JSX.Element {
  const { from, to } = limits.value;
  const tier = TIERS[recording.tier] ?? "";
  const [start, clock] = [origin.value, zone.value];
  const machine = [recording.jvm, recording.collector, recording.cpus ? `${recording.cpus} CPUs` : ""];
  const parts = [
    recording.pid === null ? "" : `pid ${recording.pid}`,
    machine.filter((part) => part !== "").join(", "),
    `${day(start, from, clock)} ${timeOfDay(start, from, clock)}–${timeOfDay(start, to, clock)} ${zoneName(start, clock)}`,
    `tier ${recording.tier}`,
  ];
  return (
    <span class="about" title={`recorded by ${recording.sources.join(", ")}; tier ${recording.tier}: ${tier}`}>
      <strong>
        <Name text={recording.title} longest={60} />
      </strong>
      {parts
        .filter((part) => part !== "")
        .map((part) => (
          <span key={part} class="part">
            <Name text={part} longest={80} />
          </span>
        ))}
    </span>
  );
}
