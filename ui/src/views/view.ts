// What a view is. A folder beside this file with an `index.tsx` that exports one as its default is found by itself.

import type { ComponentType } from "preact";
import type { Overview } from "../data/overview.ts";

export interface View {
  /** Stands in the address. */
  id: string;
  title: string;
  /** At the side, on the time axis, as a tab below it, or in place of all when no recording is open. */
  place: "side" | "time" | "detail" | "home";
  /** Small numbers come first. */
  order: number;
  /** Whether the recording has something for it; it is offered always if there is no such function. */
  isUseful?: (overview: Overview) => boolean;
  Component: ComponentType;
}
