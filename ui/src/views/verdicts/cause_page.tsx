// The catalogue's page of a cause: how it works, what would rule it out, what to do.

import type { JSX } from "preact";
import { overview } from "../../state/store.ts";
import { Markdown } from "../../widgets/text.tsx";

export function CausePage({ id }: { id: string }): JSX.Element | null {
  const page = overview.value?.pages[id];
  if (!page) return null;
  return (
    <div class="cause-page">
      {page.sections.map(({ heading, text }) => (
        <details key={heading}>
          <summary>{heading}</summary>
          <Markdown text={text} />
        </details>
      ))}
    </div>
  );
}
