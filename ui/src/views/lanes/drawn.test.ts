import { expect, test } from "vitest";
import { KNOWN } from "../../../test/known.ts";
import type { Lane } from "../../data/overview.ts";
import { choicesOf, drawnLanes } from "./drawn.ts";

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
    expect(choicesOf(whole)).toEqual([{ key: "one", title: "one" }]);
});

test("keys that the recording does not have are left out", () => {
  const drawn = drawnLanes([lane("counter")], ["one", "one|:803", "one|:99", "none"]);
  expect(drawn.map(({ id, instances }) => [id, instances.length])).toEqual([
    ["one", 6],
    ["one|:803", 1],
  ]);
});
