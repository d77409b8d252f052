import { expect, test } from "vitest";
import { clean, shorten } from "./text.ts";

test.each([
  ["java.lang.String", "java.lang.String"],
  ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["bell\u0007", "bell\\x07"],
  ["\u001b[31mred", "\\x1b[31mred"],
  ["two\nlines\tand a tab", "two lines and a tab"],
  ["right\u202eleft", "right\\u{202e}left"],
  ["zero\u200bwidth", "zero\\u{200b}width"],
  ["tag\u{e0041}", "tag\\u{e0041}"],
  ["half \ud800 a pair", "half \\u{d800} a pair"],
  ["straße 東京 😀", "straße 東京 😀"],
])("%j is shown as %j", (name, shown) => {
  expect(clean(name)).toBe(shown);
});

test("names keep both ends", () => {
  expect(shorten("a".repeat(5_000) + "z".repeat(5_000), 9)).toBe("aaaa…zzzz");
  expect(shorten("short", 9)).toBe("short");
  expect(clean("x".repeat(10_000))).toHaveLength(1_201);
});
