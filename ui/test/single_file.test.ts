// The single file in a browser, with a small world whose every number is known.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launch, pageWith, type Watched, watched } from "./browser.ts";
import { HOSTILE, sickWorld } from "./sick.ts";
import { packOf, type World } from "./world.ts";

const isPossible = hasBrowser();
let browser: Browser;
const closers: (() => void)[] = [];

beforeAll(async () => {
  if (isPossible) browser = await launch();
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
afterAll(async () => browser?.close());

async function opened(world: World, hash = ""): Promise<Watched> {
  const { url, remove } = pageWith(packOf(world));
  const shown = await watched(browser);
  closers.push(remove, () => void shown.page.close());
  await shown.page.goto(`${url}${hash}`);
  await shown.page.waitForSelector(".headline h1");
  return shown;
}

/** The state as the address has it; it is written a moment after a change. */
async function stateWith(page: Page, part: RegExp): Promise<string> {
  await page.waitForFunction((source) => new RegExp(source).test(decodeURIComponent(location.hash)), part.source);
  return page.evaluate(() => decodeURIComponent(location.hash));
}

describe.runIf(isPossible)("a single file", () => {
  test("says when it was slow, why and how sure, and asks nobody", async () => {
    const { page, complaints } = await opened(sickWorld());
    expect(await page.textContent(".headline h1")).toBe("Slow 20 s of 40 s");
    expect(await page.textContent(".figures")).toContain("0.17 → 1.04 cores");
    const first = await page.textContent(".cause h2");
    expect(first).toContain("71 %");
    expect(first).toContain("code_cache_churn");
    expect(first).toContain("shown");
    expect(await page.textContent(".unexplained h2")).toContain("29 %");
    expect(await page.locator("#ruled-out summary").textContent()).toContain("1");
    await page.waitForSelector(".flame-view canvas");
    expect(complaints).toEqual([]);
  });

  test("shows hostile names as text", async () => {
    const { page, complaints } = await opened(sickWorld());
    for (const tab of ["flame", "frames", "subsecond", "spans", "log", "facts", "compare"]) {
      const button = page.locator(`#tab-${tab}`);
      if ((await button.count()) > 0) await button.click();
      if (tab === "spans") await page.locator("table.spans tbody tr").first().click();
      if (tab === "frames") await page.locator("table.data tbody tr").first().click();
      await page.waitForSelector('[aria-busy="false"], .detail table, .detail p');
    }
    expect(await page.locator("img").count()).toBe(0);
    const text = (await page.textContent("body")) ?? "";
    expect(text).toContain('<img src=x onerror="alert(1)">');
    expect(text).toContain("\\u{202e}");
    expect(text).not.toContain("\u202e");
    expect(text).not.toContain("x".repeat(1_300));
    expect(complaints).toEqual([]);
    expect(HOSTILE).toContain("\u202e");
  });

  test("a piece of evidence leads to what it was read from", async () => {
    const { page } = await opened(sickWorld());
    await page.click("text=compiler threads");
    await stateWith(page, /s=10000000000\.\.30000000000/);
    expect(await page.textContent(".picked-bar")).toContain("2 threads");
    // 20 s of samples of two compiler threads.
    await page.waitForFunction(() =>
      document.querySelector(".flame-view .toolbar")?.textContent?.includes("40 s, 2,000 samples"),
    );
    await page.click("text=longest pause");
    await page.waitForSelector("table.spans tbody tr");
    expect(await page.textContent(".spans-view .toolbar")).toContain("20 spans");
    await page.click("text=compilations");
    await page.waitForSelector('[data-lane="compile_count"]');
  });

  test("time is picked by dragging, zoomed by wheel and keys, and kept in the address", async () => {
    const { page } = await opened(sickWorld());
    const box = await page.locator(".time-body .plot").first().boundingBox();
    if (!box) throw new Error("there is no lane");
    await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 12, { steps: 4 });
    await page.mouse.up();
    const picked = /s=(\d+)\.\.(\d+)/.exec(await stateWith(page, /s=\d/));
    expect(Number(picked?.[1]) / 1e9).toBeCloseTo(10, 0);
    expect(Number(picked?.[2]) / 1e9).toBeCloseTo(20, 0);
    await page.keyboard.press("z");
    const zoomed = /w=(\d+)\.\.(\d+)/.exec(await stateWith(page, /w=\d/));
    expect(Number(zoomed?.[1])).toBeLessThanOrEqual(Number(picked?.[1]));
    expect(Number(zoomed?.[2])).toBeGreaterThanOrEqual(Number(picked?.[2]));
    await page.mouse.move(box.x + box.width / 2, box.y - 20);
    for (let step = 0; step < 12; step += 1) await page.mouse.wheel(0, -300);
    await page.waitForFunction(() => {
      const window = /w=(\d+)\.\.(\d+)/.exec(location.hash);
      return window !== null && Number(window[2]) - Number(window[1]) < 10_000_000;
    });
    await page.reload();
    await page.waitForSelector(".picked-bar");
    expect(await page.textContent(".picked-bar")).toContain("picked");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("s="));
  });

  test("thousands of threads are not thousands of elements", async () => {
    const { page, complaints } = await opened(sickWorld(2_000));
    await page.click("text=1,997 more");
    await page.waitForFunction(() => (document.querySelector(".thread-rows")?.clientHeight ?? 0) > 30_000);
    expect(await page.locator(".thread-label").count()).toBeLessThan(120);
    await page.evaluate(() => document.querySelector(".time-body")?.scrollTo(0, 20_000));
    await page.waitForSelector("text=http-12");
    expect(complaints).toEqual([]);
  });

  test("a healthy recording without samples, threads and lanes", async () => {
    const world = sickWorld();
    const { explanation } = world.overview;
    const headline = { kind: "nothing_slow", says: "nothing was slow", but: [] } as const;
    const healthy = { ...explanation, headline, slow: [], causes: explanation.causes.slice(1), losses: [] };
    const bare = { ...world.overview, explanation: healthy, threads: [], roles: [], lanes: [], events: [] };
    const { page, complaints } = await opened({ overview: bare, activities: [], spans: [], counters: {} });
    expect(await page.textContent(".headline h1")).toBe("Nothing was slow");
    expect(await page.locator(".tabs button").allTextContents()).toEqual(["Log", "Facts", "Compare"]);
    expect(await page.textContent(".side")).toContain("Nothing was lost");
    expect(complaints).toEqual([]);
  });
});
