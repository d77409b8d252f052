// The whole page: the subject on top, the answer at the side, time in the middle, details below.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { amount } from "../base/numbers.ts";
import { clean } from "../base/text.ts";
import { useRecordings } from "../state/recordings.ts";
import { failure, library, openRecording, overview, view } from "../state/store.ts";
import { viewsAt } from "../views/all.ts";
import { Button, Note } from "../widgets/controls.tsx";
import { Guarded } from "../widgets/guarded.tsx";
import { Details } from "./details.tsx";
import { Gone } from "./gone.tsx";
import { Header } from "./header.tsx";
import { onKey } from "./shortcuts.ts";
import { TimePane } from "./time_pane.tsx";

export function App(): JSX.Element {
  useEffect(() => {
    const handle = (event: KeyboardEvent): void => {
      if (overview.peek() && onKey(event)) event.preventDefault();
    };
    document.addEventListener("keydown", handle);
    return () => document.removeEventListener("keydown", handle);
  }, []);
  return (
    <>
      <Header />
      <Gone />
      <Body />
    </>
  );
}

function Body(): JSX.Element {
  if (overview.value) return <Workbench />;
  if (failure.value) {
    return (
      <main class="message">
        <h1>This recording cannot be shown</h1>
        <Note>{failure.value}</Note>
        {library.value?.many && <Button onClick={() => openRecording(null)}>all recordings</Button>}
      </main>
    );
  }
  return library.value?.many && view.value.recording === null ? <Home /> : <Opening />;
}

/** A view of all recordings: the one in the address, or else the first. */
function Home(): JSX.Element {
  const views = viewsAt("home");
  const { id, title, Component } = views.find((one) => one.id === view.value.tab) ?? views[0];
  return (
    <Guarded key={id} title={title}>
      <Component />
    </Guarded>
  );
}

/** What is being loaded, and for how long: a big recording takes seconds. */
function Opening(): JSX.Element {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  const line = useRecordings().find(({ id }) => id === view.value.recording);
  const what = line ? `${clean(line.name, 60)}, ${amount(line.bytes, "bytes")}` : "the recording";
  return (
    <main class="message" aria-busy="true">
      <Note>
        Opening {what} … {seconds > 0 && `${seconds} s`}
      </Note>
    </main>
  );
}

/** Shows the answer before lanes and stacks are requested. */
function Workbench(): JSX.Element {
  const [isAnswered, setAnswered] = useState(false);
  // Effects run after the frame was drawn.
  useEffect(() => setAnswered(true), []);
  return (
    <main class="workbench">
      <aside class="side" aria-label="Answer">
        {viewsAt("side").map(({ id, title, Component }) => (
          <Guarded key={id} title={title}>
            <Component />
          </Guarded>
        ))}
      </aside>
      <div class="centre" aria-busy={!isAnswered}>
        {isAnswered && (
          <>
            <TimePane />
            <Details />
          </>
        )}
      </div>
    </main>
  );
}
