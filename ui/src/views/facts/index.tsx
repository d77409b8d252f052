// Facts about the whole recording: host, JVM, flags, limits.

import type { JSX } from "preact";
import { grouped, spaced } from "../../base/text.ts";
import type { Fact } from "../../data/overview.ts";
import { overview, update, view } from "../../state/store.ts";
import { Note, Search } from "../../widgets/controls.tsx";
import { Name } from "../../widgets/text.tsx";
import type { View } from "../view.ts";

/** The subjects that are most often needed; the others follow by name. */
const FIRST = ["jvm", "flag", "gc", "code_cache", "host", "cgroup", "process"];

function Facts(): JSX.Element {
  const facts = overview.value?.facts ?? [];
  const find = view.value.find.toLowerCase();
  const found = facts.filter(({ subject, key, value }) => `${subject} ${key} ${value}`.toLowerCase().includes(find));
  const subjects = [...new Set(found.map(({ subject }) => subject))].sort(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
  return (
    <div class="facts-view">
      <div class="toolbar">
        <Search label="Find facts" value={view.value.find} onInput={(text) => update({ find: text })} />
        <span class="muted">
          {grouped(found.length)} of {grouped(facts.length)}
        </span>
      </div>
      {found.length === 0 && <Note>No such facts in this recording.</Note>}
      {subjects.map((subject) => (
        <Subject key={subject} title={subject} facts={found.filter((fact) => fact.subject === subject)} />
      ))}
    </div>
  );
}

function rank(subject: string): number {
  const index = FIRST.indexOf(subject);
  return index < 0 ? FIRST.length : index;
}

function Subject({ title, facts }: { title: string; facts: readonly Fact[] }): JSX.Element {
  return (
    <section>
      <h2>{spaced(title)}</h2>
      <table class="data facts">
        <tbody>
          {facts.map(({ key, value, source }, index) => (
            <tr key={index}>
              <th scope="row">
                <Name text={key} longest={60} />
              </th>
              <td>
                <Name text={value} longest={300} />
              </td>
              <td class="faint">{source}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export default { id: "facts", title: "Facts", place: "detail", order: 60, Component: Facts } satisfies View;
