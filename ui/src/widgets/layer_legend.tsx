// The legend of the layers' colours.

import type { JSX } from "preact";
import { css, paletteFor } from "../charts/palette.ts";
import { isDark, safeColours } from "../state/appearance.ts";

const LAYERS: readonly (readonly [kind: string, title: string])[] = [
  ["compiled", "Java, compiled"],
  ["c1", "C1"],
  ["inlined", "inlined"],
  ["interpreted", "interpreted"],
  ["vm", "JVM (C++)"],
  ["native", "native"],
  ["kernel", "kernel"],
  ["class", "class"],
  ["wait", "what was waited for"],
  ["thread", "thread that was waited for"],
];

export function LayerLegend(properties: {
  isCompared: boolean;
  thinned: number;
  /** The layers that occur. */
  kinds: ReadonlySet<string>;
}): JSX.Element {
  const { isCompared, thinned, kinds } = properties;
  const palette = paletteFor(isDark.value, safeColours.value);
  const entries = isCompared
    ? [
        ["more than in the baseline", css(palette.more, palette)],
        ["less", css(palette.less, palette)],
      ]
    : LAYERS.filter(([kind]) => kinds.has(kind)).map(([kind, title]) => [title, css(palette.frames[kind], palette)]);
  return (
    <ul class="legend inline">
      {entries.map(([title, colour]) => (
        <li key={title}>
          <i style={{ background: colour }} />
          {title}
        </li>
      ))}
      {thinned > 1 && <li class="muted">one sample of {thinned} is in this file</li>}
    </ul>
  );
}
