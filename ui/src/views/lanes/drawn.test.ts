import { expect, test } from "vitest";
import { KNOWN } from "../../../test/known.ts";
import type { Lane } from "../../data/overview.ts";
import { byChange, choicesOf, drawnLanes, mostChanged } from "./drawn.ts";

const MANY = Array.from({ length: 9 }, (_, index) => `:80${index}`);

function lane(kind: Lane["kind"], more: Partial<Lane> = {}): Lane {
  return { ...KNOWN.lanes[0], id: "one", title: "one", kind, instances: MANY, ...more };
}

test("one of many lines is chosen by itself, a picture of all ports is whole", () => {
  expect(choicesOf(lane("counter")).map(({ key }) => key)).toEqual(MANY.map((port) => `one|${port}`));
  for (const whole of [
    lane("latency"),
    lane("spans"),
    lane("counter", { stacked: true }),
    lane("rate", { instances: [""] }),
  ])
    expect(choicesOf(whole).map(({ key, title }) => [key, title])).toEqual([["one", "one"]]);
});

test("keys that the recording does not have are left out", () => {
  const drawn = drawnLanes([lane("counter")], ["one", "one|:803", "one|:99", "none"]);
  expect(drawn.map(({ id, instances }) => [id, instances.length])).toEqual([
    ["one", 6],
    ["one|:803", 1],
  ]);
});

test("what changed most in the slow time is offered first", () => {
  const sizes = [0.2, null, 0.9, 0.01, 0.5, 0, 0, 0, 0];
  const changes = sizes.map((size) => (size === null ? null : { baseline: 1, slow: 2, size }));
  const choices = choicesOf(lane("counter", { changes }));
  expect(byChange(choices).map(({ key }) => key.slice(-1))).toEqual([..."240315678"]);
  expect(mostChanged(choices, 2).map(({ key }) => key)).toEqual(["one|:802", "one|:804"]);
  expect(mostChanged(choices, 9)).toHaveLength(3);
  const whole = choicesOf(lane("counter", { changes, stacked: true }));
  expect(whole[0].change?.size).toBe(0.9);
});
