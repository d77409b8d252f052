import { expect, test } from "vitest";
import type { CauseVerdict } from "../../data/explanation.ts";
import { causeTitle, isHarm, shareText } from "./words.ts";

test.each([
  ["code_cache_churn", "Code cache churn"],
  ["gc_log_blocked", "GC log blocked"],
  ["explicit_gc", "Explicit GC"],
  ["nmethod_barrier_storm", "nmethod barrier storm"],
  ["network_slow", "Network slow"],
  ["unexplained", "Unexplained"],
  ["", ""],
])("the id %s is written %s", (id, title) => expect(causeTitle(id)).toBe(title));

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
