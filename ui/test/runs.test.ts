// Runs over time: from the list to the chart and into a run, by pointer and by keys, while the server still reads, on paper.

import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { slotOf } from "../src/charts/runs.ts";
import type { RecordingLine } from "../src/data/overview.ts";
import type { Run, Runs } from "../src/data/runs.ts";
import { hasBrowser, launch, type Watched, watched } from "./browser.ts";
import { findings } from "./findings.ts";
import { addressWith } from "./opened.ts";
import { expectPicture } from "./picture.ts";

const isPossible = hasBrowser();
/** Nothing listens there: every request is answered by the test. */
const ADDRESS = "http://127.0.0.1:1/token/";
const START_NS = 1_795_168_921_000_000_000;
const COUNT = 30;
const CHART = ".runs-view canvas";
const ROWS = '[aria-label="All runs"] tbody tr';

/** Without the fix, requests take longer and wait for a lock. */
function isWithoutFix(run: number): boolean {
  return run >= 10 && run < 20;
}

/** The newest one is the first of the list; the same in both directions. */
function recordingOf(run: number): number {
  return COUNT - 1 - run;
}

function nameOf(run: number): string {
  return `${String(run + 1).padStart(2, "0")}.fathom`;
}

function runOf(run: number): Run {
  const p50_ns = (isWithoutFix(run) ? 7e6 : 5e6) * (1 + (run % 3) / 100);
  return {
    name: nameOf(run),
    title: "shop.Main",
    from_ns: START_NS + run * 100e9,
    length_ns: 20e9,
    latencies: { count: 600, p50_ns, p99_ns: 2 * p50_ns, mean_ns: 1.05 * p50_ns },
    stopped: 0.002,
    lost_ns: isWithoutFix(run) ? 1e9 : 0,
  };
}

/** The first runs, as far as they were read. */
function seriesOf(read: number): Runs {
  const runs = Array.from({ length: read }, (_, run) => runOf(run));
  const marks = [{ at: 10 }, { at: 20 }].filter(({ at }) => at + 3 <= read);
  const lost = (ns: number): number[] => runs.map((_, run) => (isWithoutFix(run) ? ns : 0));
  return {
    runs,
    recordings: runs.map((_, run) => recordingOf(run)),
    marks,
    changes: marks.map(({ at }) => ({
      by: at === 10 ? "p50 +41 %, mean +41 %" : "p50 -29 %, mean -29 %",
      with_it: [at === 10 ? "flag UseFix true → false" : "flag UseFix false → true"],
    })),
    false_alarms: 0.05,
    lost: [
      { id: "lock_contention", name: "Lock contention", ns: lost(1.4e6) },
      { id: "disk_slow", name: "Slow disk", ns: lost(0.2e6) },
    ],
    unread: COUNT - read,
    unreadable: 0,
    left_out: 0,
  };
}

function lineOf(id: number, isRead: boolean): RecordingLine {
  return {
    id,
    name: nameOf(recordingOf(id)),
    title: null,
    jvm: null,
    from_ns: null,
    duration_ns: null,
    bytes: 7,
    slow_ns: null,
    headline: isRead ? { kind: "nothing_slow", says: "nothing was slow", but: [] } : null,
    first_cause: null,
    first_cause_name: null,
    verdict: null,
    share: null,
    error: null,
  };
}

describe.runIf(isPossible)("runs over time", () => {
  let browser: Browser;
  let shown: Watched;
  /** So many recordings the server has read. */
  let read = COUNT;

  beforeAll(async () => {
    browser = await launch();
  });
  beforeEach(() => {
    read = COUNT;
  });
  afterAll(async () => browser?.close());

  async function opened(
    hash: string,
    options: { dark?: boolean; width?: number; height?: number } = {},
  ): Promise<Page> {
    await shown?.page.close();
    shown = await watched(browser, options);
    const built = readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");
    const lines = (): RecordingLine[] => Array.from({ length: COUNT }, (_, id) => lineOf(id, recordingOf(id) < read));
    await shown.page.route(`${ADDRESS}**`, (route) => {
      const path = new URL(route.request().url()).pathname;
      if (path.endsWith("/api/watched")) return route.fulfill({ json: null });
      if (path.endsWith("/api/runs")) return route.fulfill({ json: seriesOf(read) });
      if (path.endsWith("/api/recordings")) return route.fulfill({ json: lines() });
      return route.fulfill({ body: built, contentType: "text/html" });
    });
    await shown.page.goto(`${ADDRESS}${hash}`);
    return shown.page;
  }

  /** The middle of a run in the chart. */
  async function placeOf(page: Page, run: number): Promise<{ x: number; y: number }> {
    const box = await page.locator(CHART).boundingBox();
    const { from, to } = slotOf(run, COUNT, box?.width ?? 0);
    return { x: (from + to) / 2, y: 100 };
  }

  test("from the list to the chart, into a run, and back", async () => {
    const page = await opened("");
    await page.click("text=runs over time");
    await page.waitForSelector(CHART);
    await addressWith(page, /v=runs/);
    const rows = page.locator(ROWS);
    expect(await rows.count()).toBe(COUNT);
    expect(await rows.locator(".changed").count()).toBe(2);
    expect(await rows.nth(10).textContent()).toMatch(/11.*2026-11-20.*7\.07 ms.*14\.1 ms.*1\.6 ms.*Lock contention/);
    const changes = await page.locator('[aria-label="Changes"] tbody tr').allTextContents();
    expect(changes[0]).toMatch(/11 · 11\.fathom.*p50 \+41 %.*flag UseFix true → false/);
    await page.hover(CHART, { position: await placeOf(page, 10) });
    const tip = await page.textContent(".tip");
    for (const says of ["11 · 11.fathom", "p50 7.07 ms", "p99 14.1 ms", "+41 %", "Lock contention 1.4 ms"]) {
      expect(tip).toContain(says);
    }
    expect(await rows.nth(10).getAttribute("class")).toBe("marked");
    await page.click(CHART, { position: await placeOf(page, 10) });
    await addressWith(page, new RegExp(`r=${recordingOf(10)}(&|$)`));
    await page.goBack();
    await page.waitForSelector(CHART);
    await page.click("text=all recordings");
    await page.waitForSelector("text=tick two recordings");
    expect(shown.complaints).toEqual([]);
  });

  test.each([
    ["runs", false],
    ["runs-dark", true],
  ])("looks like its reference, %s", async (name, dark) => {
    const page = await opened("#v=runs", { dark });
    await page.waitForSelector(CHART);
    await page.hover(CHART, { position: await placeOf(page, 10) });
    await expectPicture(page, name);
  });

  test("by keys", async () => {
    const page = await opened("#v=runs");
    const chart = page.locator(CHART);
    await chart.focus();
    for (const [key, run] of [
      ["ArrowRight", 1],
      ["ArrowRight", 2],
      ["ArrowLeft", 1],
      ["End", COUNT],
      ["ArrowRight", COUNT],
      ["Home", 1],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForSelector(`canvas[aria-label*="run ${run} of ${COUNT}, "]`);
      expect(await page.textContent(".tip")).toContain(`${run} · `);
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector(".tip", { state: "detached" });
    await page.locator(`${ROWS} button`).nth(1).focus();
    await page.waitForSelector(`canvas[aria-label*="run 2 of ${COUNT}, "]`);
    await chart.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await addressWith(page, new RegExp(`r=${recordingOf(COUNT - 1)}(&|$)`));
    expect(shown.complaints).toEqual([]);
  });

  test("the series grows while recordings are read, and says so", async () => {
    read = 12;
    const page = await opened("#v=runs");
    await page.waitForSelector(`text=12 of ${COUNT} recordings were read so far`);
    expect(await page.locator(ROWS).count()).toBe(12);
    expect(await page.locator('[aria-label="Changes"] tbody tr').count()).toBe(0);
    read = COUNT;
    await page.waitForFunction(([rows, count]) => document.querySelectorAll(rows).length === count, [
      ROWS,
      COUNT,
    ] as const);
    expect(await page.locator(".runs-view .note").count()).toBe(0);
    expect(shown.complaints).toEqual([]);
  });

  test.each([
    ["light", { dark: false }],
    ["dark", { dark: true }],
    ["on a phone", { width: 390, height: 844 }],
  ])("axe-core finds nothing, %s", async (_, options) => {
    const page = await opened("#v=runs", options);
    await page.waitForSelector(CHART);
    expect(await findings(page)).toEqual([]);
    await page.locator(CHART).focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(".tip");
    expect(await findings(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)).toBe(false);
  });

  test("paper has the chart and all rows, and is light", async () => {
    const page = await opened("#v=runs", { dark: true });
    await page.waitForSelector(CHART);
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    expect(await page.locator(".runs-view .toolbar").isVisible()).toBe(false);
    expect(await page.locator(CHART).isVisible()).toBe(true);
    const overflow = await page.evaluate(() => {
      const main = document.querySelector(".runs-view");
      return main ? getComputedStyle(main).overflowY : "";
    });
    expect(overflow).toBe("visible");
  });
});
