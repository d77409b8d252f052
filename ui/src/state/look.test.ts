import { expect, test } from "vitest";
import { KNOWN, LOOK } from "../../test/known.ts";
import type { Lane, Overview } from "../data/overview.ts";
import { isPaired, isWithoutStacks, lanesOf, settled, showCause, worstOf } from "./look.ts";
import { DEFAULTS, fromHash, toHash } from "./view_state.ts";

function showing(look: Partial<typeof LOOK>): Overview {
  const [cause] = KNOWN.explanation.causes;
  const causes = [{ ...cause, look: { ...LOOK, ...look } }];
  return { ...KNOWN, explanation: { ...KNOWN.explanation, causes } };
}

test("a cause that is opened shows its lanes, threads and stacks", () => {
  expect(showCause("churn", KNOWN)).toEqual({
    pins: ["compile_count", "gc"],
    rows: ["1"],
    threads: "compiler",
    event: "waits/lock",
    search: "shop.Cart.add",
    find: "",
    took: null,
    zoom: null,
    tab: "flame",
  });
  expect(worstOf("churn", KNOWN.explanation)).toEqual(LOOK.worst);
  expect(showCause("other", KNOWN)).toEqual({});
});

test.each([
  [{ event: "" }, { tab: "spans", kinds: ["gc_pause"], search: "" }],
  [{ event: "waits/of_another_version" }, { tab: "spans", kinds: ["gc_pause"] }],
  [
    { event: "", lanes: ["request", "gc_pause"] },
    { tab: "request", port: ":8080" },
  ],
  [{ event: "", lanes: [], table: "facts" }, { tab: "facts" }],
  [{ event: "", lanes: [], table: "logs" }, { tab: "log" }],
])("without stacks (%j) the list that tells most is shown", (look, shown) => {
  expect(showCause("churn", showing(look))).toMatchObject(shown);
});

test("what an address leaves open is decided once, and what it says stays", () => {
  const first = settled(DEFAULTS, KNOWN);
  expect(first).toMatchObject({ cause: "churn", lanes: ["latency", "gc"], pins: ["compile_count", "gc"] });
  const again = fromHash(toHash(first));
  expect(settled(again, KNOWN)).toEqual(first);
  // Another version may have other defaults: the address must still show the same.
  expect(settled(again, showing({ lanes: [], event: "cpu" }))).toEqual(first);
  expect(settled(fromHash("e=cpu&v=frames&cause=none"), KNOWN)).toMatchObject({
    event: "cpu",
    tab: "frames",
    pins: [],
  });
});

test("stacks that show nothing of a cause are known", () => {
  expect(isWithoutStacks("churn", showing({ event: "" }).explanation)).toBe(true);
  expect(isWithoutStacks("churn", KNOWN.explanation)).toBe(false);
  expect(isWithoutStacks("other", KNOWN.explanation)).toBe(false);
});

test("where nothing was slow nothing is opened", () => {
  const quiet = { ...KNOWN, explanation: { ...KNOWN.explanation, slow: [] } };
  expect(settled(DEFAULTS, quiet)).toMatchObject({ cause: "", pins: [], event: "cpu", lanes: ["latency", "gc"] });
});

test("a figure of just what is named is shown before all instances of it", () => {
  const lane = (id: string, kind: Lane["kind"], more: Partial<Lane>): Lane => ({
    ...KNOWN.lanes[1],
    id,
    kind,
    ...more,
  });
  const lanes = [
    lane("queue/a", "queue", { words: ["depth|a"] }),
    lane("depth", "counter", { words: ["depth"], instances: ["a", "b"] }),
  ];
  expect(lanesOf(["depth|a"], { lanes })).toEqual(["queue/a"]);
  expect(lanesOf(["depth|b"], { lanes })).toEqual(["depth|b"]);
  expect(lanesOf(["depth"], { lanes })).toEqual(["queue/a"]);
});

test("words lead to lanes, and to one instance of many where it is named", () => {
  expect(lanesOf(["gc_phase", "gc_pause", "disk_bytes|vdb", "disk_bytes|vdc", "none", "request"], KNOWN)).toEqual([
    "gc",
    "disk_bytes|vdb",
    "disk_bytes",
  ]);
});

test("what no cause explains is looked for in the threads that answer requests", () => {
  const [thread] = KNOWN.threads;
  const handler = { ...thread, role: "handler", samples: 3 };
  const serving = { ...KNOWN, threads: [...KNOWN.threads, handler] };
  expect(showCause("unexplained", serving)).toEqual({ threads: "handler" });
  expect(showCause("unexplained", KNOWN)).toEqual({});
  const look = { ...LOOK, roles: [], event: "cpu", lanes: [] };
  const unexplained = { ...KNOWN.explanation.unexplained, look };
  const seen = { ...serving, explanation: { ...KNOWN.explanation, unexplained } };
  expect(showCause("unexplained", seen)).toMatchObject({ threads: "handler", event: "cpu" });
  expect(showCause("churn", serving)).toMatchObject({ threads: "compiler" });
});

test("the first cause is looked at beside the quiet time, where there is one", () => {
  const known = { ...KNOWN, baseline: [{ from: 2, to: 3 }] };
  expect(isPaired("churn", known)).toBe(true);
  expect(isPaired("other", known)).toBe(false);
  expect(isPaired("churn", { ...KNOWN, baseline: [] })).toBe(false);
  const without = { ...known, explanation: showing({ event: "" }).explanation };
  expect(isPaired("churn", without)).toBe(false);
});
