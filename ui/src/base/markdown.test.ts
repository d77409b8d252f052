import { expect, test } from "vitest";
import { blocksOf, inlinesOf } from "./markdown.ts";

test("paragraphs, lists that wrap, and code", () => {
  const text = "One line\ngoes on.\n\n- first `x`\n  and more\n- second\n\n```\na <b>\n```\n1. one\n2. two";
  expect(blocksOf(text)).toEqual([
    {
      kind: "paragraph",
      inlines: [
        { kind: "text", text: "One line" },
        { kind: "text", text: " " },
        { kind: "text", text: "goes on." },
      ],
    },
    {
      kind: "list",
      ordered: false,
      items: [
        [
          { kind: "text", text: "first " },
          { kind: "code", text: "x" },
          { kind: "text", text: " " },
          { kind: "text", text: "and more" },
        ],
        [{ kind: "text", text: "second" }],
      ],
    },
    { kind: "code", text: "a <b>" },
    { kind: "list", ordered: true, items: [[{ kind: "text", text: "one" }], [{ kind: "text", text: "two" }]] },
  ]);
});

test("emphasis and links; what is no element stays text", () => {
  expect(inlinesOf("**Churn** see [the page](x.md) `a*b` 2 * 3")).toEqual([
    { kind: "strong", text: "Churn" },
    { kind: "text", text: " see the page " },
    { kind: "code", text: "a*b" },
    { kind: "text", text: " 2 * 3" },
  ]);
});
