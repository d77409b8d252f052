import { expect, test } from "vitest";
import { detailsOf } from "./details.ts";

test.each([
  ["", []],
  [
    '{"gc_id":3,"user_ns":1200000,"bytes":2048,"cause":"<b>"}',
    [
      ["gc_id", "3"],
      ["user", "1.2 ms"],
      ["bytes", "2 KB"],
      ["cause", "<b>"],
    ],
  ],
  ['{"deep":{"a":[1]}}', [["deep", '{"a":[1]}']]],
  ["not json", [["detail", "not json"]]],
  ["7", [["detail", "7"]]],
])("%s", (detail, entries) => {
  expect(detailsOf(detail)).toEqual(entries);
});
