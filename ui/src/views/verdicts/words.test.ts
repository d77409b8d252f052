import { expect, test } from "vitest";
import type { CauseVerdict } from "../../data/explanation.ts";
import type { Overview } from "../../data/overview.ts";
import { overview } from "../../state/store.ts";
import { causeTitle, isHarm, shareText } from "./words.ts";

test.each([
  ["gc_log_blocked", "Blocked on the GC log"],
  ["unexplained", "Unexplained"],
  ["of_another_version", "of_another_version"],
])("the cause %s is called %s", (id, title) => {
  const pages = { gc_log_blocked: { name: "Blocked on the GC log", title: "", sections: [] } };
  overview.value = { pages } as unknown as Overview;
  expect(causeTitle(id)).toBe(title);
});

test.each([
  [0.71, 71, "71 %"],
  [0.001, 0, "<1 %"],
  [0, 0, "–"],
])("a share of %d", (part, percent, text) => expect(shareText(part, percent)).toBe(text));

test("harm is what was seen and took no time", () => {
  const cause = { share: 0, verdict: "shown" } as CauseVerdict;
  expect(isHarm(cause)).toBe(true);
  expect(isHarm({ ...cause, share: 0.2 })).toBe(false);
  expect(isHarm({ ...cause, verdict: "possible" })).toBe(false);
});
