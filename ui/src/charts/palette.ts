// The colours of everything that is drawn on a canvas. The colours of text are in the style sheet.
//
// Layers have the colours that profilers commonly use: Java green, C++ yellow, native code red, the kernel orange. The
// second set was found by annealing from Okabe and Ito's colours. Any two are distinct with any colour vision deficiency
// (`palette.test.ts`), but they differ somewhat from the common layer colours.

/** A colour as hue (degrees), saturation and lightness (percent). */
export type Hsl = readonly [hue: number, saturation: number, lightness: number];

export interface Palette {
  dark: boolean;
  text: string;
  muted: string;
  faint: string;
  grid: string;
  /** For unknown parts. */
  hatch: string;
  surface: string;
  line: string;
  area: string;
  pain: string;
  painArea: string;
  accent: string;
  match: string;
  /** The same for cells, which are pale where little matches. */
  found: Hsl;
  /** Growth and decrease against a baseline. */
  more: Hsl;
  less: Hsl;
  /** By kind of frame. */
  frames: Record<string, Hsl>;
  /** By colour name of a state. */
  states: Record<string, Hsl>;
  /** For waits. There are many kinds and they are stacked, so those of one recording must differ. */
  waits: readonly Hsl[];
  /** For things without a colour of their own, the most frequent first. */
  categories: readonly Hsl[];
}

const USUAL_FRAMES: Record<string, Hsl> = {
  interpreted: [75, 50, 58],
  compiled: [125, 38, 58],
  c1: [146, 36, 60],
  inlined: [174, 40, 58],
  vm: [48, 82, 60],
  native: [4, 68, 67],
  kernel: [27, 84, 61],
  class: [205, 48, 64],
  wait: [250, 52, 74],
  thread: [325, 45, 70],
};

const SAFE_FRAMES: Record<string, Hsl> = {
  interpreted: [213, 92, 52],
  compiled: [178, 100, 56],
  c1: [222, 76, 40],
  inlined: [200, 0, 66],
  vm: [59, 94, 62],
  native: [40, 95, 54],
  kernel: [312, 19, 51],
  class: [359, 88, 41],
  wait: [209, 100, 73],
  thread: [28, 90, 48],
};

const STATES: Record<string, Hsl> = {
  java: [125, 42, 48],
  interpreted: [75, 55, 46],
  vm: [46, 85, 50],
  native: [4, 68, 60],
  kernel: [27, 88, 54],
  compiler: [262, 48, 62],
  gc: [199, 70, 48],
  runnable: [320, 55, 58],
  stolen: [340, 75, 45],
  stopped: [215, 30, 42],
  blocked: [215, 55, 66],
  idle: [215, 12, 80],
  unknown: [0, 0, 70],
};

/** States without activity stay in the background, also in the dark theme. */
const DIM: Record<string, Hsl> = { idle: [215, 12, 36], unknown: [0, 0, 42] };

const SAFE_STATES: Record<string, Hsl> = {
  java: [153, 97, 59],
  interpreted: [193, 100, 59],
  vm: [50, 97, 52],
  native: [28, 73, 44],
  kernel: [317, 95, 67],
  compiler: [248, 81, 57],
  gc: [224, 63, 26],
  runnable: [326, 83, 57],
  stolen: [356, 97, 37],
  stopped: [201, 92, 51],
  blocked: [229, 95, 66],
  idle: [215, 12, 86],
  unknown: [0, 0, 70],
};

const SAFE_DIM: Record<string, Hsl> = { idle: [215, 12, 30], unknown: [0, 0, 46] };

/**
 * One for each wait, in the order of the table of states, found by annealing. The frequent ones (pages, locks, results,
 * services, files) differ most, and all differ from the other states.
 */
const WAITS: readonly Hsl[] = [
  [168, 89, 32],
  [168, 61, 67],
  [244, 80, 58],
  [181, 90, 78],
  [252, 64, 83],
  [245, 90, 69],
  [193, 86, 73],
  [252, 32, 32],
  [252, 78, 32],
  [252, 59, 42],
  [188, 78, 56],
  [200, 90, 61],
  [223, 90, 70],
  [168, 40, 57],
  [218, 78, 45],
  [244, 57, 58],
];

const SAFE_WAITS: readonly Hsl[] = [
  [47, 100, 40],
  [258, 76, 15],
  [216, 64, 71],
  [188, 63, 28],
  [110, 47, 64],
  [170, 76, 21],
  [259, 20, 72],
  [197, 23, 51],
  [332, 17, 18],
  [178, 45, 79],
  [208, 47, 46],
  [177, 10, 61],
  [198, 72, 34],
  [272, 96, 20],
  [179, 100, 74],
  [209, 68, 83],
];

const CATEGORIES: readonly Hsl[] = [
  [205, 62, 50],
  [32, 82, 54],
  [280, 38, 58],
  [160, 52, 42],
  [350, 58, 58],
  [60, 55, 44],
  [85, 45, 62],
  [15, 45, 48],
];

type Chrome = Omit<Palette, "dark" | "frames" | "states" | "waits" | "more" | "less" | "categories">;

/** The colours for a theme. */
export function paletteFor(dark: boolean, safe: boolean): Palette {
  const chrome = dark ? DARK : LIGHT;
  return {
    ...chrome,
    dark,
    frames: safe ? SAFE_FRAMES : USUAL_FRAMES,
    states: { ...(safe ? SAFE_STATES : STATES), ...(dark ? (safe ? SAFE_DIM : DIM) : {}) },
    waits: safe ? SAFE_WAITS : WAITS,
    more: safe ? [26, 90, 52] : [4, 72, 60],
    less: [208, 62, 58],
    categories: CATEGORIES,
  };
}

const LIGHT: Chrome = {
  text: "#1b1d21",
  muted: "#5c6169",
  faint: "#9097a1",
  grid: "#e8e9eb",
  hatch: "#d3d6da",
  surface: "#ffffff",
  line: "#2b6cb0",
  area: "#2b6cb02e",
  pain: "#b3261e",
  painArea: "#b3261e26",
  accent: "#2b6cb0",
  match: "#7c3aed",
  found: [262, 83, 50],
};

const DARK: Chrome = {
  text: "#e8eaed",
  muted: "#a3a9b2",
  faint: "#737a84",
  grid: "#2a2d32",
  hatch: "#3a3f46",
  surface: "#191b1f",
  line: "#6aa9e9",
  area: "#6aa9e938",
  pain: "#f2776d",
  painArea: "#f2776d30",
  accent: "#6aa9e9",
  match: "#b794f6",
  found: [262, 90, 90],
};

/** Colours of states. Each wait has its own; other states of one family differ slightly in hue. */
export function stateColours(states: readonly { color: string }[], palette: Palette): Hsl[] {
  const seen = new Map<string, number>();
  return states.map(({ color }) => {
    const [hue, saturation, lightness] = palette.states[color] ?? palette.states.unknown;
    const nth = seen.get(color) ?? 0;
    seen.set(color, nth + 1);
    if (color === "blocked") return palette.waits[nth % palette.waits.length];
    return [(hue + 360 + (nth % 2 === 0 ? 1 : -1) * Math.ceil(nth / 2) * 13) % 360, saturation, lightness];
  });
}

/** A colour as the canvas takes it. Fills are dimmed in the dark theme to avoid glare. */
export function css([hue, saturation, lightness]: Hsl, palette: Palette, shift = 0, alpha = 1): string {
  const [s, l] = palette.dark ? [saturation * 0.85, lightness * 0.8] : [saturation, lightness];
  return `hsl(${hue} ${s}% ${Math.min(Math.max(l + shift, 8), 92)}% / ${alpha})`;
}

/** Text on a fill of the palette. */
export function inkOn([, , lightness]: Hsl, palette: Palette): string {
  return lightness * (palette.dark ? 0.8 : 1) > 43 ? "#15171a" : "#ffffff";
}

/** The fill of a frame: its layer's colour, slightly varied by name so that neighbours differ. */
export function frameColour(kind: string, name: string, palette: Palette): string {
  return css(palette.frames[kind] ?? UNKNOWN, palette, (hash(name) % 9) - 4);
}

/** A frame whose layer is unknown. */
export const UNKNOWN: Hsl = [220, 8, 72];

function hash(text: string): number {
  let value = 7;
  for (let index = 0; index < text.length; index += 1) value = (value * 31 + text.charCodeAt(index)) >>> 0;
  return value;
}
