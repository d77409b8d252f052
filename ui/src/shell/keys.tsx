// The list of keyboard shortcuts.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Button } from "../widgets/controls.tsx";

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["w, s or + and −", "closer, farther"],
  ["a, d or ← and →", "earlier, later"],
  ["0", "the whole recording"],
  ["[ and ]", "pick the slow time before, after"],
  ["m", "pick what is shown"],
  ["Shift + ← and →", "pick less, more"],
  ["z or f", "zoom to what is picked"],
  ["Esc", "pick nothing"],
  ["/", "search"],
  ["?", "these keys"],
  ["wheel on the ruler, Ctrl + wheel on lanes", "closer, farther"],
  ["Shift + wheel, Shift + drag", "earlier, later"],
  ["drag on lanes, click on a bar", "pick a time, pick and list what it is"],
  ["double click on lanes", "zoom to what is picked there, else closer"],
  ["click, Ctrl + click on a thread or role", "take its samples, add them"],
  ["arrows, Enter, Esc in a flame graph", "walk, zoom, show all"],
];

export function Keys(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <Button kind="quiet" onClick={() => dialog.current?.showModal()}>
        Keys
      </Button>
      <dialog ref={dialog} class="keys" aria-label="Keys">
        <dl>
          {KEYS.map(([keys, does]) => (
            <div key={keys}>
              {/* For copied text and screen readers, which have no columns. */}
              <dt>{keys}: </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button type="submit" class="button">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
}
