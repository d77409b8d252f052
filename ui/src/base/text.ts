// Makes text from files safe to show. Class, thread and file names come from files that others wrote. Characters that
// change the writing direction or hide a part of the name are shown as escapes. The terminal uses the same rules.

/** The longest text that is shown in full, in characters. */
const LONGEST_TEXT = 1_200;

// Soft hyphen, zero-width characters, direction and language marks, and the like.
const STEERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** One line without control characters. */
export function clean(text: string, longest = LONGEST_TEXT): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return isPlain(cut) ? cut : cut.replace(STEERS, escaped);
}

/** Whether all letters are common ones, none of them a control character. Avoids the regular expression, which is slow. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const isAscii = code >= 0x20 && code < 0x7f;
    const isLatin = code > 0xad && code < 0x600;
    // Dashes, quotes, the ellipsis, superscripts, subscripts, arrows and signs.
    const isSign = (code >= 0x2010 && code < 0x2028) || (code >= 0x2070 && code < 0x2c00);
    if (!isAscii && !isLatin && !isSign) return false;
  }
  return true;
}

function escaped(character: string): string {
  if (character === "\n" || character === "\r" || character === "\t") return " ";
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Cuts the middle out of a name that is longer than `longest`: its ends identify it. */
export function shorten(name: string, longest: number): string {
  const isLong = name.length > 2 * longest;
  const safe = clean(isLong ? name.slice(0, longest) : name);
  if (safe.length <= longest && !isLong) return safe;
  const kept = Math.max(longest - 1, 0);
  const end = isLong ? clean(name.slice(-longest)) : safe;
  return `${safe.slice(0, Math.ceil(kept / 2))}…${end.slice(end.length - Math.floor(kept / 2))}`;
}

/** A whole number with thousands separated. Done by hand, because a browser takes longer to load its locale rules than to draw. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 sample`, `2 samples`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** A sentence with its first letter in upper case. */
export function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** A word of the schema as people write it: `ruled_out` → `ruled out`. */
export function spaced(word: string): string {
  return word.replaceAll("_", " ");
}
