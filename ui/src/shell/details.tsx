// Below the lanes: the picked time, and its views as tabs.

import type { JSX } from "preact";
import { overview, update, view } from "../state/store.ts";
import { viewsAt } from "../views/all.ts";
import type { View } from "../views/view.ts";
import { Guarded } from "../widgets/guarded.tsx";
import { PickedBar } from "./picked_bar.tsx";

export function Details(): JSX.Element {
  const views = usefulViews();
  const current = views.find(({ id }) => id === view.value.tab) ?? views[0];
  return (
    <section class="details" aria-label="Details">
      <PickedBar />
      <div
        class="tabs"
        role="tablist"
        aria-label="Views"
        data-arrows="true"
        onKeyDown={(event) => walk(event, views, current)}
      >
        {views.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={id === current.id}
            aria-controls="detail"
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => update({ tab: id })}
          >
            {title}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel that scrolls must be reachable by keys */}
      <div class="detail" id="detail" role="tabpanel" tabIndex={0} aria-labelledby={`tab-${current.id}`}>
        <Guarded key={current.id} title={current.title}>
          <current.Component />
        </Guarded>
      </div>
    </section>
  );
}

function usefulViews(): View[] {
  const known = overview.value;
  return viewsAt("detail").filter(({ isUseful }) => !known || !isUseful || isUseful(known));
}

/** Arrow keys move between tabs, as usual. */
function walk(event: KeyboardEvent, views: readonly View[], current: View): void {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by === undefined) return;
  const next = views[(views.indexOf(current) + by + views.length) % views.length];
  update({ tab: next.id });
  document.getElementById(`tab-${next.id}`)?.focus();
  event.preventDefault();
}
