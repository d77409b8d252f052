import { expect, test } from "vitest";
import type { CauseVerdict } from "../../data/explanation.ts";
import type { Overview } from "../../data/overview.ts";
import { overview } from "../../state/store.ts";
import { causeTitle, exclusion, heldWhen, isHarm, shareText } from "./words.ts";

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

test.each([
  [0, "in all of 10:00:00–10:02:00"],
  [1, "within the slow 10:00:00–10:02:00"],
  [3, "within the slow times of 10:00:00–10:02:00"],
])("of %d slow times what is ruled out holds %s", (slow, text) =>
  expect(heldWhen("10:00:00", "10:02:00", slow)).toBe(text),
);

test("a cause is ruled out by its sentence, else by its first figure", () => {
  const evidence = [{ says: "longest pause", value: 4e6, unit: "ns" }];
  const cause = { says: "no pause of 50 ms", evidence } as CauseVerdict;
  expect(exclusion(cause)).toBe("no pause of 50 ms");
  expect(exclusion({ ...cause, says: "" })).toBe("longest pause 4 ms");
  expect(exclusion({ ...cause, says: "", evidence: [] })).toBe("");
});

test("harm is what was seen and took no time", () => {
  const cause = { share: 0, verdict: "shown" } as CauseVerdict;
  expect(isHarm(cause)).toBe(true);
  expect(isHarm({ ...cause, share: 0.2 })).toBe(false);
  expect(isHarm({ ...cause, verdict: "possible" })).toBe(false);
});
