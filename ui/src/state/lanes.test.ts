import { expect, test } from "vitest";
import { isDrawn, moveBefore, toggleLane, togglePin, toggleThin } from "./lanes.ts";

const NOW = { lanes: ["gc", "cpu", "heap"], pins: ["locks"], thin: ["gc"] };

test("a lane is taken away with all that is known of it, and comes back below the others", () => {
  expect(toggleLane(NOW, "gc")).toEqual({ lanes: ["cpu", "heap"], pins: ["locks"], thin: [] });
  expect(toggleLane(NOW, "locks")).toMatchObject({ lanes: NOW.lanes, pins: [] });
  expect(toggleLane(NOW, "faults")).toEqual({ lanes: ["gc", "cpu", "heap", "faults"] });
  expect(toggleLane({ lanes: ["gc"], pins: [], thin: [] }, "gc")).toMatchObject({ lanes: ["none"] });
  expect(toggleLane({ lanes: ["none"], pins: [], thin: [] }, "gc")).toEqual({ lanes: ["gc"] });
});

test("a lane is pinned and folded, and both undone", () => {
  expect(togglePin(NOW, "cpu")).toEqual({ pins: ["locks", "cpu"] });
  expect(togglePin(NOW, "locks")).toEqual({ pins: [], lanes: ["locks", "gc", "cpu", "heap"] });
  expect(toggleThin(NOW, "gc")).toEqual({ thin: [] });
  expect(toggleThin(NOW, "cpu")).toEqual({ thin: ["gc", "cpu"] });
});

test("a lane is put before another one", () => {
  expect(moveBefore(NOW, "heap", "gc")).toEqual({ lanes: ["heap", "gc", "cpu"], pins: ["locks"] });
  expect(moveBefore(NOW, "gc", "locks")).toEqual({ pins: ["gc", "locks"] });
  expect(moveBefore(NOW, "locks", "cpu")).toEqual({ lanes: ["gc", "locks", "cpu", "heap"], pins: [] });
  expect(moveBefore(NOW, "gc", "gc")).toEqual({});
});

test("a lane that was dragged among the pins is still there when another cause brings its own", () => {
  const dragged = { ...NOW, ...moveBefore(NOW, "gc", "locks") };
  expect(isDrawn({ ...dragged, pins: ["faults"] }, "gc")).toBe(true);
});
