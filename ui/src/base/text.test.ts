import { expect, test } from "vitest";
import { clean, counted, shorten } from "./text.ts";

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
  ["soft\u00adhyphen, c1\u0085, arabic\u061cmark", "soft\\xadhyphen, c1\\x85, arabic\\u{61c}mark"],
  ["5 µs → 3 × “x”…", "5 µs → 3 × “x”…"],
  ["isolate\u2066d", "isolate\\u{2066}d"],
  ["line\u2028feed", "line\\u{2028}feed"],
])("%j is shown as %j", (name, shown) => {
  expect(clean(name)).toBe(shown);
});

test.each([
  [0, "0 samples"],
  [1, "1 sample"],
  [999, "999 samples"],
  [1_000, "1,000 samples"],
  [12_345_678, "12,345,678 samples"],
])("%d is counted as %s", (count, expected) => {
  expect(counted(count, "sample")).toBe(expected);
});

test("names keep both ends", () => {
  expect(shorten("a".repeat(5_000) + "z".repeat(5_000), 9)).toBe("aaaa…zzzz");
  expect(shorten("short", 9)).toBe("short");
  expect(clean("x".repeat(10_000))).toHaveLength(1_201);
});
