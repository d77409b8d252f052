// Searching sorted times.

/** Index of the first number that is not below `wanted`; the length if there is none. */
export function lowerBound(sorted: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The text of a search box: a part of the wanted text, or a regular expression between slashes. */
export function matcher(typed: string): (text: string) => boolean {
  const expression =
    typed.length > 2 && typed.startsWith("/") && typed.endsWith("/") ? parsed(typed.slice(1, -1)) : null;
  if (expression) return (text) => expression.test(text);
  const plain = typed.toLowerCase();
  return (text) => text.toLowerCase().includes(plain);
}

function parsed(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, "iu");
  } catch {
    return null;
  }
}
