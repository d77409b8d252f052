// How the page looks: theme and palette. A matter of the reader, not of what is shown, so it is kept in the browser
// and not in the address.

import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
const prefersDark = signal(dark.matches);
const printing = signal(paper.matches);

export const theme = signal<Theme>(remembered("theme", ["auto", "light", "dark"], "auto"));
/** Colours that people with any kind of colour vision can tell apart. */
export const safeColours = signal(remembered("colours", ["usual", "safe"], "usual") === "safe");
/** Whether it is dark now. Paper never is. */
export const isDark = computed(
  () => !printing.value && (theme.value === "auto" ? prefersDark.value : theme.value === "dark"),
);

/** Follows the system and remembers what was chosen. */
export function startAppearance(): void {
  dark.addEventListener("change", () => {
    prefersDark.value = dark.matches;
  });
  paper.addEventListener("change", () => {
    printing.value = paper.matches;
  });
  effect(() => {
    document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
    remember("theme", theme.value);
    remember("colours", safeColours.value ? "safe" : "usual");
  });
}

function remembered<T extends string>(name: string, words: readonly T[], otherwise: T): T {
  try {
    const kept = localStorage.getItem(`fathom.${name}`);
    return words.find((word) => word === kept) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`fathom.${name}`, value);
  } catch {
    // A page opened from disk may have nowhere to keep it.
  }
}
