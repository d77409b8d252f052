// The selection for the pictures below: time, threads, event, and baseline.

import type { JSX } from "preact";
import { duration } from "../base/numbers.ts";
import { lengthOf, sameInterval } from "../base/quantities.ts";
import { counted } from "../base/text.ts";
import { decimalsFor, timeOfDay } from "../base/time.ts";
import { baselineText } from "../data/served.ts";
import type { Baseline } from "../data/source.ts";
import { hasQuiet } from "../state/look.ts";
import { nameOf, useRecordings } from "../state/recordings.ts";
import {
  chosenThreads,
  event,
  limits,
  origin,
  overview,
  pick,
  picked,
  selection,
  slow,
  update,
  view,
  zone,
} from "../state/store.ts";
import { Button, Select } from "../widgets/controls.tsx";
import { eventGroups } from "./event_groups.ts";
import { zoomToPicked } from "./gestures.ts";

export function PickedBar(): JSX.Element {
  return (
    <div class="picked-bar" role="status" aria-label="What is picked">
      <Time />
      <ThreadsChosen />
      <Events />
      <Against />
    </div>
  );
}

function Time(): JSX.Element {
  const { from, to } = selection.value;
  const decimals = decimalsFor(Math.max(lengthOf(selection.value) / 100, 1));
  const text = (at: number): string => timeOfDay(origin.value, at, zone.value, decimals);
  const isPicked = picked.value !== null;
  return (
    <span class="chip">
      <strong>{isPicked ? "picked" : defaultTitle()}</strong>{" "}
      <time>
        {text(from)}–{text(to)}
      </time>{" "}
      <span class="muted">{duration(lengthOf(selection.value))}</span>
      {!isPicked && slow.value.length > 0 && (
        <Button kind="link" title="all the time" onClick={() => pick(limits.value)}>
          all
        </Button>
      )}
      {isPicked && (
        <>
          <Button kind="link" onClick={zoomToPicked}>
            zoom
          </Button>
          <Button kind="link" onClick={() => pick(null)}>
            clear
          </Button>
        </>
      )}
    </span>
  );
}

/** What is shown if nothing is picked. */
function defaultTitle(): string {
  if (slow.value.length === 0) return "all the time";
  if (slow.value.length === 1) return "slow time";
  const isOne = slow.value.some((interval) => sameInterval(interval, selection.value));
  return isOne ? "longest slow time" : "slow times";
}

function ThreadsChosen(): JSX.Element {
  const chosen = chosenThreads.value;
  if (chosen === "all") return <span class="chip muted">all threads</span>;
  const words = view.value.threads.split(",");
  const known = overview.value;
  const names = words.map(
    (word) => known?.roles.find(({ id }) => id === word)?.title ?? known?.threads[Number(word)]?.name ?? word,
  );
  return (
    <span class="chip">
      <strong>{names.length <= 2 ? names.join(", ").slice(0, 60) : "some"}</strong>{" "}
      <span class="muted">{counted(chosen.length, "thread")}</span>
      <Button kind="link" onClick={() => update({ threads: "" })}>
        all
      </Button>
    </span>
  );
}

function Events(): JSX.Element | null {
  const events = overview.value?.events ?? [];
  if (events.length === 0) return null;
  return (
    <Select
      label="event"
      value={event.value?.id ?? ""}
      groups={eventGroups(events)}
      onChange={(id) => update({ event: id, search: "", zoom: null })}
    />
  );
}

/** The baseline of differential pictures: none, the quiet time, or a picked time that was saved. */
function Against(): JSX.Element | null {
  const { baseline } = view.value;
  const recordings = useRecordings(baseline.kind === "recording");
  if ((overview.value?.events ?? []).length === 0) return null;
  const kept: Baseline = { kind: "interval", from: selection.value.from, to: selection.value.to };
  const choices: (readonly [string, string])[] = [["none", "nothing"]];
  if (hasQuiet(overview.value)) {
    choices.push(["baseline", "the quiet time"]);
  }
  if (baseline.kind === "interval") choices.push([baselineText(baseline), intervalText(baseline)]);
  if (baseline.kind === "recording") {
    choices.push([baselineText(baseline), nameOf(recordings, baseline.id, zone.value)]);
  }
  if (baseline.kind !== "interval" && picked.value) choices.push(["keep", "this time (keep it)"]);
  const change = (value: string): void => {
    if (value === "keep") update({ baseline: kept });
    else if (value === "baseline") update({ baseline: { kind: "quiet" } });
    else if (value === "none") update({ baseline: { kind: "none" } });
  };
  return <Select label="against" value={baselineText(baseline)} choices={choices} onChange={change} />;
}

function intervalText({ from, to }: { from: number; to: number }): string {
  const decimals = decimalsFor(Math.max((to - from) / 100, 1));
  return [from, to].map((at) => timeOfDay(origin.value, at, zone.value, decimals)).join("–");
}
