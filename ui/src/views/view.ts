// The type of a view. A sibling folder with an `index.tsx` whose default export is a view is found automatically.

import type { ComponentType } from "preact";
import type { Overview } from "../data/overview.ts";

export interface View {
  /** The id in the address. */
  id: string;
  title: string;
  /** At the side, on the time axis, as a tab below it, or instead of everything when no recording is open. */
  place: "side" | "time" | "detail" | "home";
  /** Small numbers come first. */
  order: number;
  /** Whether the recording has data for it. Without this function the view is always offered. */
  isUseful?: (overview: Overview) => boolean;
  Component: ComponentType;
}
