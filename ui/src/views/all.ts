// Every view there is, found by looking into the folders.

import type { View } from "./view.ts";

const FOUND = import.meta.glob<{ default: View }>("./*/index.tsx", { eager: true });

/** Views of a place in their order. */
export function viewsAt(place: View["place"]): View[] {
  return Object.values(FOUND)
    .map((module) => module.default)
    .filter((view) => view.place === place)
    .sort((a, b) => a.order - b.order);
}
