// Text is readable on every background in both themes: at least 4.5 : 1, as WCAG 2 requires.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const TOKENS = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");
const TEXTS = ["text", "muted", "faint", "accent", "pain", "good", "likely", "possible"];
const SURFACES = ["page", "surface", "raised"];

/** The colours of a block of the style sheet, by name. */
function colours(block: string): Record<string, string> {
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((match) => [match[1], match[2]]));
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const [light, dark] = TOKENS.split(/:root\[data-(?:theme|colours)/).map(colours);

describe.each([
  ["light", light],
  ["dark", dark],
])("%s", (_, theme) => {
  test.each(TEXTS.flatMap((text) => SURFACES.map((surface) => [text, surface] as const)))(
    "%s on %s",
    (text, surface) => {
      expect(contrast(theme[text], theme[surface])).toBeGreaterThanOrEqual(4.5);
    },
  );
  test("the verdict on its own colour", () => {
    expect(contrast(theme.surface, theme.shown)).toBeGreaterThanOrEqual(4.5);
  });
});
