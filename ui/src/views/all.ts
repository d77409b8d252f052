// All views, found by scanning the folders.

import type { View } from "./view.ts";

const FOUND = import.meta.glob<{ default: View }>("./*/index.tsx", { eager: true });

/** The views of a place, in order. */
export function viewsAt(place: View["place"]): View[] {
  return Object.values(FOUND)
    .map((module) => module.default)
    .filter((view) => view.place === place)
    .sort((a, b) => a.order - b.order);
}
