import { describe, expect, test } from "vitest";
import { DEFAULTS, fromHash, threadsOf, toHash, type ViewState } from "./view_state.ts";

const EVERYTHING: ViewState = {
  recording: 3,
  other: 4,
  window: { from: -5, to: 12_345_678_901 },
  selection: { from: 1_000, to: 2_000 },
  threads: "compiler,3-5",
  event: "cpu",
  baseline: { kind: "interval", from: 5, to: 9 },
  tab: "flame",
  cause: "code_cache_churn",
  search: "a&b=c#d/é%",
  zoom: { node: 17, name: "a,b\n<c>" },
  inverted: true,
  folded: true,
  frame: "java.util.HashMap.put(Object, Object)",
  lanes: ["vmstat_count|pgmajfault", "a,b"],
  pins: ["gc"],
  thin: ["gc"],
  rows: ["3"],
  opened: ["handler"],
  kinds: ["gc_pause"],
  took: { from: 1_000_000, to: 20_000_000 },
  port: ":8080",
  request: { from: 5, to: 70, thread: -1 },
  find: "<script>",
  heat: "state",
  pair: "one",
  zone: "local",
};

describe("a link shows a colleague the same", () => {
  test.each([
    ["as it begins", DEFAULTS],
    ["with everything changed", EVERYTHING],
    [
      "zoomed to a path from the leaves",
      { ...DEFAULTS, inverted: true, zoom: { path: "1fffffffffffff", name: "a,b" } },
    ],
    ["compared with the quiet time", { ...DEFAULTS, baseline: { kind: "quiet" } as const }],
    ["compared with another recording", { ...DEFAULTS, baseline: { kind: "recording", id: 7 } as const }],
  ])("%s", (_, state) => {
    expect(fromHash(`#${toHash(state)}`)).toEqual(state);
  });

  test("nothing is said of what is as it begins", () => {
    expect(toHash(DEFAULTS)).toBe("");
    expect(toHash({ ...DEFAULTS, recording: 1 })).toBe("r=1");
  });
});

test.each([
  "#w=9..3&s=a..b&z=~xyz,run&r=-1&b=recording:x&heat=lava&zone=mars",
  "#w=1e99..2e99&with=99999999999999999999",
  "#l=%25E0%25A4%25A",
  "#%%%",
])("%s says nothing that can be read", (hash) => {
  expect(fromHash(hash)).toEqual(DEFAULTS);
});

test("threads by role and by index", () => {
  const threads = ["handler", "handler", "gc", "gc", "vm"].map((role, index) => ({ index, role }));
  expect(threadsOf("", threads)).toBe("all");
  expect(threadsOf("gc,0", threads)).toEqual([0, 2, 3]);
  expect(threadsOf("1-3", threads)).toEqual([1, 2, 3]);
  expect(threadsOf("nobody", threads)).toEqual([]);
});
