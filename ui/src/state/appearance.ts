// How the page looks: theme and palette. This depends on the reader, not on the content, so it is kept in the browser
// and not in the address.

import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
const prefersDark = signal(dark.matches);
const printing = signal(paper.matches);

export const theme = signal<Theme>(remembered("theme", ["auto", "light", "dark"], "auto"));
/** Colours that people with any kind of colour vision can distinguish. */
export const safeColours = signal(remembered("colours", ["usual", "safe"], "usual") === "safe");
const preparing = signal(false);

/** Whether the page is being printed. Then it also shows everything that would need a scroll or a click. */
export const isForPaper = computed(() => printing.value || preparing.value);

/** The maximum wait for missing answers, in ms. */
const PATIENCE_MS = 5_000;

/** Prints the page when it is complete. */
export async function printPage(): Promise<void> {
  preparing.value = true;
  const end = performance.now() + PATIENCE_MS;
  do await new Promise((done) => setTimeout(done, 200));
  while (document.querySelector('[aria-busy="true"]') && performance.now() < end);
  window.print();
  preparing.value = false;
}

/** Whether the page is dark now. Paper never is. */
export const isDark = computed(
  () => !isForPaper.value && (theme.value === "auto" ? prefersDark.value : theme.value === "dark"),
);

/** Follows the system's setting and remembers the choice. */
export function startAppearance(): void {
  dark.addEventListener("change", () => {
    prefersDark.value = dark.matches;
  });
  paper.addEventListener("change", () => {
    printing.value = paper.matches;
  });
  effect(() => unfold(isForPaper.value));
  effect(() => {
    document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
    document.documentElement.dataset.colours = safeColours.value ? "safe" : "usual";
    remember("theme", theme.value);
    remember("colours", safeColours.value ? "safe" : "usual");
  });
}

/** Opens folded sections, and folds them again. */
function unfold(isOpen: boolean): void {
  const folds = isOpen ? "details:not([open])" : "details[data-for-paper]";
  for (const fold of document.querySelectorAll<HTMLDetailsElement>(folds)) {
    // Choosers are useless on paper.
    if (fold.matches(".lane-chooser")) continue;
    fold.open = isOpen;
    fold.toggleAttribute("data-for-paper", isOpen);
  }
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
    // A page opened from disk may have no storage.
  }
}
