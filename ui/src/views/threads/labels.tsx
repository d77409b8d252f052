// The names next to the thread lanes. A click selects the threads for the pictures below; with Control it adds them.

import type { JSX } from "preact";
import { duration } from "../../base/numbers.ts";
import { clean, grouped, shorten } from "../../base/text.ts";
import { chosenThreads, update, view } from "../../state/store.ts";
import { sourcesOf } from "./cell_tip.tsx";
import type { Row } from "./rows.ts";
import { ROLE_HEIGHT, ROW_HEIGHT } from "./rows.ts";

/** How many letters from the end of a long name are always shown: the end identifies a thread as well as the beginning. */
const END = 10;
/** No screen can show more. */
const LONGEST = 200;

export function RowLabel(properties: { row: Row; top: number; onToggle: (role: string) => void }): JSX.Element {
  const { row, top, onToggle } = properties;
  const style = { top: `${top}px`, height: `${row.kind === "role" ? ROLE_HEIGHT : ROW_HEIGHT}px` };
  if (row.kind === "more") {
    return (
      <button type="button" class="thread-label more" style={style} onClick={() => onToggle(row.role)}>
        {row.hidden > 0 ? `${grouped(row.hidden)} more` : "fewer"}
      </button>
    );
  }
  const token = row.kind === "role" ? row.id : String(row.thread.index);
  return (
    <button
      type="button"
      class={`thread-label ${row.kind}`}
      style={style}
      aria-pressed={isChosen(row)}
      title={row.kind === "role" ? "take these threads for the pictures below" : titleOf(row)}
      onClick={(event) => choose(token, event.ctrlKey || event.metaKey)}
    >
      {row.kind === "role" ? (
        <>
          <strong>{row.title}</strong> <span class="faint">{grouped(row.threads.length)}</span>
        </>
      ) : (
        <ThreadName name={nameOf(row)} />
      )}
    </button>
  );
}

/** A name, in full if it fits, else without a part of its middle. */
function ThreadName({ name }: { name: string }): JSX.Element {
  const letters = [...shorten(name, LONGEST)];
  return (
    <span class="name">
      <span class="begin">{letters.slice(0, -END).join("")}</span>
      <span>{letters.slice(-END).join("")}</span>
    </span>
  );
}

type ThreadRow = Extract<Row, { kind: "thread" }>;

function nameOf({ thread }: ThreadRow): string {
  return thread.name || `thread ${thread.tid}`;
}

/** The full text of a cut name, and what it is. */
function titleOf(row: ThreadRow): string {
  const about = [
    clean(nameOf(row)),
    `tid ${row.thread.tid}, CPU ${duration(row.thread.cpu_ns)}`,
    sourcesOf(row.thread),
  ];
  return about.filter((line) => line !== "").join("\n");
}

function isChosen(row: Exclude<Row, { kind: "more" }>): boolean {
  const chosen = chosenThreads.value;
  if (chosen === "all") return false;
  return row.kind === "thread"
    ? chosen.includes(row.thread.index)
    : row.threads.every(({ index }) => chosen.includes(index));
}

/** A click on the only selected entry selects all threads again. */
function choose(token: string, isAdding: boolean): void {
  const words = view
    .peek()
    .threads.split(",")
    .filter((word) => word !== "");
  const others = words.filter((word) => word !== token);
  const isThere = others.length < words.length;
  if (isAdding) update({ threads: (isThere ? others : [...words, token]).join(",") });
  else update({ threads: isThere && others.length === 0 ? "" : token });
}
