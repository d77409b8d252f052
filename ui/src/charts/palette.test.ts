// People with any colour vision deficiency can distinguish the safe colours. What they see is computed as in Machado, Oliveira and
// Fernandes (2009); the distance between two colours is measured in OKLab.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { css, type Hsl, type Palette, paletteFor, UNKNOWN } from "./palette.ts";

/** Hundredths of OKLab; 2 is just noticeable when two fields are side by side. */
const APART = 7;

/** Indexes of the waits for pages, locks, results of threads, services and files in the table of states. */
const FREQUENT = [0, 1, 4, 5, 8];

/** How the eye perceives red, green and blue light. */
const EYES: Record<string, readonly number[]> = {
  "all cones": [1, 0, 0, 0, 1, 0, 0, 0, 1],
  "no long ones": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  "no middle ones": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  "no short ones": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
const TO_CONES = [
  0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376,
  0.6299787005,
];
const TO_OKLAB = [
  0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371, 0.7827717662,
  -0.808675766,
];

function times(matrix: readonly number[], vector: readonly number[]): number[] {
  return [0, 3, 6].map((row) => vector.reduce((sum, part, column) => sum + matrix[row + column] * part, 0));
}

/** Linear red, green and blue of a colour as it is drawn, or as the style sheet has it. */
function light(drawn: string): number[] {
  if (drawn.startsWith("#")) return [1, 3, 5].map((at) => linear(Number.parseInt(drawn.slice(at, at + 2), 16) / 255));
  const [hue, saturation, lightness] = (drawn.match(/[\d.]+/g) ?? []).map(Number);
  const [s, l] = [saturation / 100, lightness / 100];
  const chroma = s * Math.min(l, 1 - l);
  return [0, 8, 4].map((at) => {
    const place = (at + hue / 30) % 12;
    return linear(l - chroma * Math.max(-1, Math.min(place - 3, 9 - place, 1)));
  });
}

function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function seen(drawn: string, eye: readonly number[]): number[] {
  const taken = times(eye, light(drawn)).map((part) => Math.min(Math.max(part, 0), 1));
  return times(TO_OKLAB, times(TO_CONES, taken).map(Math.cbrt)).map((part) => part * 100);
}

/** Pairs of colours that are too similar. */
function alike(
  colours: readonly (readonly [name: string, drawn: string])[],
  eye: readonly number[],
  apart = APART,
): string[] {
  const all = colours.map(([name, drawn]) => ({ name, at: seen(drawn, eye) }));
  return all.flatMap((one, index) =>
    all
      .slice(0, index)
      .filter((other) => Math.hypot(...one.at.map((part, axis) => part - other.at[axis])) < apart)
      .map((other) => `${one.name} and ${other.name}`),
  );
}

function drawn(colours: Record<string, Hsl>, palette: Palette): (readonly [name: string, drawn: string])[] {
  return Object.entries(colours).map(([name, colour]) => [name, css(colour, palette)] as const);
}

/** The colours of causes in the style sheet. */
function causes(): (readonly [name: string, drawn: string])[] {
  const tokens = readFileSync(new URL("../style/tokens.css", import.meta.url), "utf8");
  const safe = tokens.slice(tokens.indexOf('data-colours="safe"'));
  return [...safe.matchAll(/--(cause-\d): (#[0-9a-f]{6});/g)].map((match) => [match[1], match[2]] as const);
}

describe.each(Object.entries(EYES))("with %s", (_, eye) => {
  test.each([
    ["light", false],
    ["dark", true],
  ])("safe colours are apart, %s", (_theme, dark) => {
    const palette = paletteFor(dark, true);
    expect(alike(drawn(palette.frames, palette), eye)).toEqual([]);
    expect(alike(drawn(palette.states, palette), eye)).toEqual([]);
    expect(alike(drawn({ more: palette.more, less: palette.less }, palette), eye)).toEqual([]);
  });

  test("safe colours of frequent waits are apart", () => {
    const palette = paletteFor(false, true);
    const waits = Object.fromEntries(FREQUENT.map((nth) => [`wait ${nth}`, palette.waits[nth]]));
    const { blocked: _, ...others } = palette.states;
    expect(alike(drawn({ ...waits, ...others }, palette), eye).filter((pair) => pair.includes("wait"))).toEqual([]);
  });

  test("safe colours of causes are apart", () => {
    expect(causes()).toHaveLength(6);
    expect(alike(causes(), eye)).toEqual([]);
  });
});

test.each([
  ["light", false],
  ["dark", true],
])("waits differ from each other and from other states, %s", (_, dark) => {
  const palette = paletteFor(dark, false);
  const { blocked: _family, ...others } = palette.states;
  const waits = Object.fromEntries(palette.waits.map((colour, nth) => [`wait ${nth}`, colour]));
  const near = alike(drawn({ ...waits, ...others }, palette), EYES["all cones"], 6);
  expect(near.filter((pair) => pair.includes("wait"))).toEqual([]);
  const frequent = Object.fromEntries(FREQUENT.map((nth) => [`wait ${nth}`, palette.waits[nth]]));
  expect(alike(drawn(frequent, palette), EYES["all cones"], 2 * APART)).toEqual([]);
});

test.each([
  ["light", false],
  ["dark", true],
])("what was waited for differs from code, and categories from each other, %s", (_, dark) => {
  const palette = paletteFor(dark, false);
  const near = alike(drawn({ ...palette.frames, unknown: UNKNOWN }, palette), EYES["all cones"]);
  expect(near.filter((pair) => /wait|thread/.test(pair))).toEqual([]);
  expect(alike(drawn(Object.fromEntries(palette.categories.entries()), palette), EYES["all cones"])).toEqual([]);
});
