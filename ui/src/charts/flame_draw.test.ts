import { expect, test } from "vitest";
import { fitted } from "./flame_draw.ts";

/** Letters have different widths: an `i` is narrow, a capital wide. */
function widthOf(text: string): number {
  return [...text].reduce((all, letter) => all + (letter === "i" ? 3 : /[A-Z…]/.test(letter) ? 9 : 6), 0);
}

test.each([
  ["run", 18, "run"],
  ["java.util.HashMap.put", 200, "java.util.HashMap.put"],
  ["java.util.HashMap.put", 75, "HashMap.put"],
  ["java.util.HashMap.put", 50, "HashM…"],
  ["WWWWWWWWWW", 60, "WWWWW…"],
  ["iiiiiiiiiiiiiiiiiiii", 60, "iiiiiiiiiiiiiiiiiiii"],
  ["x".repeat(10_000), 40, "xxxxx…"],
  ["wide", 1, "w…"],
])("of %.30s %d pixels have %s", (name, room, expected) => {
  const text = fitted(name, room, widthOf);
  expect(text).toBe(expected);
  if (room > 20) expect(widthOf(text)).toBeLessThanOrEqual(room);
});
