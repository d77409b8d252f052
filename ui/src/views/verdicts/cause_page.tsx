// The catalogue's page of a cause: how it works, what would rule it out, what to do.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { overview } from "../../state/store.ts";
import { Markdown } from "../../widgets/text.tsx";

export function CausePage({ id }: { id: string }): JSX.Element | null {
  const page = overview.value?.pages[id];
  const [isTime, setTime] = useState(false);
  // It is folded and longer than everything else, so the picture does not wait for it.
  useEffect(() => setTime(true), []);
  if (!page || !isTime) return null;
  return (
    <details class="cause-page">
      <summary>How it works, what would rule it out, and more</summary>
      {page.sections.map(({ heading, text }) => (
        <details key={heading}>
          <summary>{heading}</summary>
          <Markdown text={text} />
        </details>
      ))}
    </details>
  );
}
