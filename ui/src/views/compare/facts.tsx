// Differences in settings, builds and environments. With two hosts this is often the whole answer.

import type { JSX } from "preact";
import { counted } from "../../base/text.ts";
import type { Comparison } from "../../data/source.ts";
import { Name } from "../../widgets/text.tsx";
import type { Names } from "./pictures.tsx";

/** Longer values are cut in their middle. */
const LONGEST = 60;

export function Facts({ facts, names }: { facts: Comparison["facts"]; names: Names }): JSX.Element {
  const { given, derived, same } = facts;
  return (
    <section aria-label="What differs">
      <h3>What differs</h3>
      {given.length === 0 ? (
        <p class="muted">Nothing of {counted(same, "fact")} that both know.</p>
      ) : (
        <table class="data compare">
          <thead>
            <tr>
              <th scope="col" />
              <th scope="col">
                <Name text={names.a} longest={LONGEST} />
              </th>
              <th scope="col">
                <Name text={names.b} longest={LONGEST} />
              </th>
            </tr>
          </thead>
          <tbody>
            {[...given, ...derived].map(({ fact, a, b }) => (
              <tr key={fact}>
                <th scope="row">
                  <Name text={fact} longest={LONGEST} />
                </th>
                <td>
                  <Name text={a.join(", ")} longest={LONGEST} />
                </td>
                <td>
                  <Name text={b.join(", ")} longest={LONGEST} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
