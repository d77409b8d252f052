// The few controls of the page. All are plain HTML elements, which keyboards and screen readers support.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

export function Button(properties: {
  onClick: () => void;
  children: ComponentChildren;
  title?: string;
  kind?: "plain" | "quiet" | "link";
  pressed?: boolean;
  disabled?: boolean;
}): JSX.Element {
  const { onClick, children, title, kind = "plain", pressed, disabled } = properties;
  return (
    <button
      type="button"
      class={`button ${kind}`}
      onClick={onClick}
      title={title}
      aria-pressed={pressed}
      disabled={disabled}
    >
      {children}
    </button>
  );
}

/** The text of a choice. */
export type Choices<T extends string = string> = readonly (readonly [value: T, title: string])[];

/** One of a few choices. */
export function Segmented<T extends string>(properties: {
  label: string;
  value: T;
  choices: Choices<T>;
  onChange: (value: T) => void;
}): JSX.Element {
  const { label, value, choices, onChange } = properties;
  return (
    <fieldset class="segmented" aria-label={label}>
      {choices.map(([choice, title]) => (
        <button key={choice} type="button" aria-pressed={choice === value} onClick={() => onChange(choice)}>
          {title}
        </button>
      ))}
    </fieldset>
  );
}

export interface Group {
  title: string;
  choices: Choices;
}

/** One of many choices. Those without a group come first. */
export function Select(properties: {
  label: string;
  value: string;
  choices?: Choices;
  groups?: readonly Group[];
  onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, choices = [], groups = [], onChange } = properties;
  const options = (some: Choices): JSX.Element[] =>
    some.map(([choice, title]) => (
      <option key={choice} value={choice} selected={choice === value}>
        {title}
      </option>
    ));
  return (
    <label class="select">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options(choices)}
        {groups.map((group) => (
          <optgroup key={group.title} label={group.title}>
            {options(group.choices)}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

/** A search box. `note` says what was found. */
export function Search(properties: {
  label: string;
  value: string;
  note?: string;
  onInput: (text: string) => void;
}): JSX.Element {
  const { label, value, note, onInput } = properties;
  return (
    <label class="search">
      <span class="hidden">{label}</span>
      <input
        type="search"
        value={value}
        placeholder={label}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {note && <output>{note}</output>}
    </label>
  );
}

/** Copies a text, and shows whether that worked. */
export function CopyButton({ title, text }: { title: string; text: () => Promise<string> }): JSX.Element {
  const [said, say] = useState("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await text());
      say("copied");
    } catch {
      say("the browser refused");
    }
    setTimeout(() => say(""), 2_000);
  };
  return (
    <Button kind="quiet" onClick={() => void copy()} title={title}>
      <span aria-live="polite">{said || title}</span>
    </Button>
  );
}

/** A note next to the pointer. */
export function Tip({ x, y, children }: { x: number; y: number; children: ComponentChildren }): JSX.Element {
  const isRight = x > window.innerWidth * 0.6;
  const isLow = y > window.innerHeight * 0.7;
  const style = {
    left: isRight ? "auto" : `${x + 14}px`,
    right: isRight ? `${window.innerWidth - x + 10}px` : "auto",
    top: isLow ? "auto" : `${y + 14}px`,
    bottom: isLow ? `${window.innerHeight - y + 10}px` : "auto",
  };
  return (
    <div class="tip" style={style} role="tooltip">
      {children}
    </div>
  );
}

/** Shown in place of a missing answer. */
export function Note({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="note">{children}</p>;
}
