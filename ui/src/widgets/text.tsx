// Text on the page. All text from a recording passes through `clean`.

import type { JSX } from "preact";
import { blocksOf, type Inline, inlinesOf } from "../base/markdown.ts";
import { clean, shorten } from "../base/text.ts";

/** The longest text of a tooltip: a class name of 10 kB is still shown in full. */
const LONGEST_TOOLTIP = 20_000;

/** A name from a recording, cut in its middle. The tooltip has the full name. */
export function Name({ text, longest = 90 }: { text: string; longest?: number }): JSX.Element {
  const shown = shorten(text, longest);
  return (
    <span class="name" title={shown === text ? undefined : clean(text, LONGEST_TOOLTIP)}>
      {shown}
    </span>
  );
}

/** Command-line options are not broken after their hyphens, if they fit into a line. */
const OPTION = /(^|\s)(--?[A-Za-z]\S{0,38})(?=\s|$)/;

/** A sentence from a recording or the catalogue. */
export function Sentence({ text }: { text: string }): JSX.Element {
  const parts = clean(text).split(new RegExp(OPTION, "g"));
  if (parts.length === 1) return <>{parts[0]}</>;
  return (
    <>
      {parts.map((part, index) =>
        index % 3 === 2 ? (
          <span key={index} class="nobr">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

/** A sentence of the catalogue in which commands stand in backticks. */
export function Advice({ text }: { text: string }): JSX.Element {
  return (
    <>
      {inlinesOf(text).map((part, index) =>
        part.kind === "text" ? <Sentence key={index} text={part.text} /> : inline(part, index),
      )}
    </>
  );
}

/** The id of a cause. It may be broken after underscores. */
export function Id({ id }: { id: string }): JSX.Element {
  const words = clean(id).split("_");
  return (
    <>
      {words.map((word, index) => (
        <span key={index}>
          {index < words.length - 1 ? `${word}_` : word}
          <wbr />
        </span>
      ))}
    </>
  );
}

/** A text of the catalogue. */
export function Markdown({ text }: { text: string }): JSX.Element {
  return (
    <>
      {blocksOf(text).map((block, index) => {
        if (block.kind === "code")
          return (
            <pre key={index}>{clean(block.text.replaceAll("\n", "\u2028"), 20_000).replaceAll("\\u{2028}", "\n")}</pre>
          );
        if (block.kind === "paragraph") return <p key={index}>{block.inlines.map(inline)}</p>;
        const items = block.items.map((item, at) => <li key={at}>{item.map(inline)}</li>);
        return block.ordered ? <ol key={index}>{items}</ol> : <ul key={index}>{items}</ul>;
      })}
    </>
  );
}

function inline({ kind, text }: Inline, index: number): JSX.Element {
  const safe = clean(text);
  if (kind === "code") return <code key={index}>{safe}</code>;
  return kind === "strong" ? <strong key={index}>{safe}</strong> : <span key={index}>{safe}</span>;
}
