// The single file in a browser, with a small world whose every number is known.

import { describe, expect, test } from "vitest";
import { hasBrowser } from "./browser.ts";
import { addressWith, opened, openInBrowser } from "./opened.ts";
import { HOSTILE, sickWorld } from "./sick.ts";

const isPossible = hasBrowser();
openInBrowser(isPossible);

describe.runIf(isPossible)("a single file", () => {
  test("says when it was slow, why and how sure, and asks nobody", async () => {
    const { page, complaints } = await opened(sickWorld());
    expect(await page.textContent(".headline h1")).toBe("Slow 20 s of 40 s");
    expect(await page.textContent(".figures")).toContain("0.17 → 1.04 cores");
    expect(await page.locator(".cause").allTextContents()).toEqual(["71 %Code cache churnshown", "29 %Unexplained"]);
    const text = (await page.textContent(".open-cause")) ?? "";
    expect(text).toContain("the mechanism was seen, and it covers this time");
    expect(text.indexOf("ReservedCodeCacheSize")).toBeLessThan(text.indexOf("compiler threads"));
    expect(await page.locator(".counts button").allTextContents()).toEqual(["1 ruled out", "1 not measured", "1 loss"]);
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

  test("every cause has a line, and one of them is open", async () => {
    const world = sickWorld();
    const [churn] = world.overview.explanation.causes;
    const many = Array.from({ length: 7 }, (_, index) => ({ ...churn.evidence[0], says: `measurement ${index}` }));
    const harm = { ...churn, id: "receive_queue_overflow", share: 0, evidence: many, do: [] };
    world.overview.explanation.causes = [harm, ...world.overview.explanation.causes];
    const { page } = await opened(world);
    expect(await page.locator(".cause .percent").allTextContents()).toEqual(["harm", "71 %", "29 %"]);
    expect(await page.locator(".evidence tbody tr").count()).toBe(4);
    await page.click("text=3 more");
    expect(await page.locator(".evidence tbody tr").count()).toBe(7);
    await page.click(".cause >> text=Unexplained");
    expect(await page.textContent(".open-cause")).toContain("interpreted frames");
    await page.click(".cause >> text=Code cache churn");
    expect(await page.locator(".open-cause").getAttribute("data-cause")).toBe("code_cache_churn");
    expect(await page.locator(".cause [aria-expanded=true]").count()).toBe(1);
    await page.click("text=1 not measured");
    await page.waitForSelector("#cannot-tell[open]");
  });

  test("what changed is told where nothing was slow", async () => {
    const world = sickWorld();
    const { explanation } = world.overview;
    const at_ns = explanation.slow[0].from_ns;
    const change = { says: "waits for socket_read", at_ns, before: 0.1, after: 0.4, unit: "threads", stack: ";read" };
    explanation.headline = { kind: "no_sign", says: "no sign of slowness", but: [] };
    explanation.slow = [];
    explanation.changed = [change];
    const { page } = await opened(world);
    expect(await page.textContent(".changes")).toContain("waits for socket_read in read 0.1 → 0.4 threads");
    await page.click(".changes button");
    await addressWith(page, /s=10000000000\.\.40000000000/);
  });

  test("a piece of evidence leads to what it was read from", async () => {
    const { page } = await opened(sickWorld());
    await page.click("text=compiler threads");
    await addressWith(page, /s=10000000000\.\.30000000000/);
    expect(await page.textContent(".picked-bar")).toContain("2 threads");
    // 20 s of samples of two compiler threads.
    await page.waitForFunction(() =>
      document.querySelector(".flame-view .slow")?.textContent?.includes("40 s (2 threads), 2,000 samples"),
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
    const picked = /s=(\d+)\.\.(\d+)/.exec(await addressWith(page, /s=\d+\.\.(19|20)\d{9}/));
    expect(Number(picked?.[1]) / 1e9).toBeCloseTo(10, 0);
    expect(Number(picked?.[2]) / 1e9).toBeCloseTo(20, 0);
    await page.keyboard.press("z");
    const zoomed = /w=(\d+)\.\.(\d+)/.exec(await addressWith(page, /w=\d/));
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

  test("the slow time is found, picked and looked at without a pointer", async () => {
    const { page } = await opened(sickWorld());
    await page.keyboard.press("Escape");
    await page.keyboard.press("m");
    await addressWith(page, /s=0\.\.40000000000/);
    await page.keyboard.press("[");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("s="));
    // Nothing is pointed at: from the middle, second 20, the slow time lies before.
    await page.keyboard.press("[");
    await addressWith(page, /s=10000000000\.\.30000000000/);
    await page.keyboard.press("f");
    await addressWith(page, /w=\d/);
    await page.keyboard.press("Shift+ArrowLeft");
    const picked = /s=10000000000\.\.(\d+)/.exec(await addressWith(page, /s=10000000000\.\.29\d{9}/));
    expect(Number(picked?.[1]) / 1e9).toBeCloseTo(29.6, 1);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog.keys[open]");
    expect(await page.textContent("dialog.keys")).toContain("pick the slow time before, after");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog.keys:not([open])", { state: "attached" });
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

  test("stacks of thousands of frames, with names of any letters, are drawn as far as they are in sight", async () => {
    const world = sickWorld();
    const deep = Array.from({ length: 3_000 }, (_, depth) => `compiled:深い🦆${depth}`).join(";");
    const activities = [{ thread: 1, from_ms: 0, to_ms: 40_000, every_ms: 100, stack: deep }];
    const { page, complaints } = await opened({ ...world, activities }, { ready: ".flame-scroll canvas" });
    const scroller = page.locator(".flame-scroll").first();
    expect(await scroller.evaluate((element) => element.scrollHeight)).toBeGreaterThan(50_000);
    // The row of frame 2,000 (row 0 is all of them) comes to stand on top.
    await scroller.evaluate((element) => element.scrollTo(0, 2_001 * 18));
    const canvas = page.locator(".flame-scroll canvas").first();
    expect((await canvas.boundingBox())?.height).toBeLessThan(800);
    await canvas.click({ position: { x: 40, y: 9 } });
    await page.waitForSelector(".frame-line >> text=深い🦆2000");
    expect(complaints).toEqual([]);
  });

  test("a phone shows all of it, one below the other", async () => {
    const { page, complaints } = await opened(sickWorld(), { width: 390, height: 844 });
    await page.waitForSelector(".flame-view canvas");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    // The title is lines of words, not a column of letters.
    expect((await page.locator(".top").boundingBox())?.height).toBeLessThan(160);
    const [side, lanes, details] = await Promise.all(
      [".side", ".time", ".details"].map((part) => page.locator(part).boundingBox()),
    );
    expect(side?.width).toBeGreaterThan(370);
    expect(lanes?.y).toBeGreaterThanOrEqual((side?.y ?? 0) + (side?.height ?? 0));
    expect(details?.y).toBeGreaterThanOrEqual((lanes?.y ?? 0) + (lanes?.height ?? 0));
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
