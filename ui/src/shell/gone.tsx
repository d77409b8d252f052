// A line on top of the page when the server is gone. What is drawn stays.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { askAgain, isServerGone } from "../state/answer.ts";
import { Button } from "../widgets/controls.tsx";

const RETRY_MS = 5_000;

export function Gone(): JSX.Element | null {
  return isServerGone.value ? <Banner /> : null;
}

function Banner(): JSX.Element {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && askAgain(), RETRY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="gone" role="alert">
      The server does not answer: what is drawn stays, nothing new can be asked. If it was ended, start{" "}
      <code>fathom open</code> again and open its new address.
      <Button onClick={askAgain}>Try again</Button>
    </div>
  );
}
