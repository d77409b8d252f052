// What a person does one after the other: causes and evidence lead to pictures, lanes are put where they are wanted, a request is
// looked into, Back undoes, and paper has all of it.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { FRAME_HEIGHT } from "../src/charts/flame_draw.ts";
import { hasBrowser, type Watched } from "./browser.ts";
import { addressWith, opened as openedAt, openInBrowser } from "./opened.ts";
import { sickWorld } from "./sick.ts";
import type { World } from "./world.ts";

const isPossible = hasBrowser();
openInBrowser(isPossible);

function opened(): Promise<Watched> {
  return openedAt(sickWorld(), { ready: ".lane canvas" });
}

const PAIR = '.flame-view[aria-busy="false"] .flame-pair';
const NOT_ZOOMED = /^(?!.*&z=)/;

/** Clicks on a frame of one graph of a pair: at a part of its width, at a depth. */
async function clickFrame(page: Page, side: "slow" | "quiet", part: number, depth: number): Promise<void> {
  const canvas = page.locator(`.flame-pair .${side} canvas`);
  const box = await canvas.boundingBox();
  await canvas.click({ position: { x: part * (box?.width ?? 0), y: (depth + 0.5) * FRAME_HEIGHT } });
}

/** The same service, with stacks that are deeper than what is in sight. */
function deepWorld(): World {
  const world = sickWorld();
  const deeper = Array.from({ length: 40 }, (_, depth) => `compiled:deeper${depth}`).join(";");
  return { ...world, activities: world.activities.map((one) => ({ ...one, stack: `${one.stack};${deeper}` })) };
}

/** Keys of the lanes from the top down. */
function lanes(page: Page): Promise<(string | null)[]> {
  return page.locator(".lane[data-key]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key")));
}

describe.runIf(isPossible)("step by step", () => {
  test("the first cause brings its picture, and its worst instant has a flag", async () => {
    const { page, complaints } = await opened();
    expect(await lanes(page)).toEqual(["latency", "request_latency", "compile_count", "gc"]);
    expect(await page.locator(".thread-label").first().textContent()).toBe("C2 CompilerThread-0");
    await addressWith(page, /pin=compile_count/);
    expect(await page.textContent(".worst")).toContain("1.4 threads: compilers");
    await page.click(".flag");
    await addressWith(page, /s=12000000000\.\.13000000000/);
    await addressWith(page, /w=\d/);
    expect(complaints).toEqual([]);
  });

  test("evidence points at what it was read from, and is no link where that is not there", async () => {
    const { page } = await opened();
    await page.click("text=compilations");
    await page.waitForSelector('[data-key="compile_count"].flash');
    await page.click("text=longest pause");
    await page.waitForFunction(() => document.querySelectorAll('.details.flash, [data-key="gc"].flash').length === 2);
    // It names no event that the recording has not.
    expect(await page.locator(".evidence tbody tr").count()).toBe(4);
    expect(await page.locator(".evidence tr.link").count()).toBe(4);
  });

  test("back undoes step by step", async () => {
    const { page } = await opened();
    await addressWith(page, /cause=code_cache_churn/);
    await page.click("#tab-spans");
    await addressWith(page, /v=spans/);
    await page.click(".cause >> text=Unexplained");
    await addressWith(page, /cause=unexplained/);
    await page.goBack();
    await addressWith(page, /cause=code_cache_churn.*v=spans|v=spans.*cause=code_cache_churn/);
    expect(await page.locator("#tab-spans").getAttribute("aria-selected")).toBe("true");
    await page.goBack();
    await addressWith(page, /v=flame/);
    await page.goForward();
    await addressWith(page, /v=spans/);
    await page.waitForSelector('#tab-spans[aria-selected="true"]');
  });

  test("quick clicks are a step each", async () => {
    const { page } = await opened();
    await addressWith(page, /cause=code_cache_churn/);
    for (const tab of ["spans", "facts", "frames"]) await page.click(`#tab-${tab}`);
    await addressWith(page, /v=frames/);
    for (const tab of ["facts", "spans", "flame"]) {
      await page.goBack();
      await addressWith(page, new RegExp(`v=${tab}`));
    }
  });

  test("the first cause is shown beside the quiet time, and alone when that is not wanted", async () => {
    const { page, complaints } = await opened();
    await page.waitForSelector('.flame-view[aria-busy="false"] .flame-pair .quiet');
    expect(await page.locator(".flame-pair .frame-line h2").allTextContents()).toHaveLength(2);
    await page.locator(".flame-pair .slow canvas").click({ position: { x: 40, y: 30 } });
    await addressWith(page, /z=\d+,/);
    await page.uncheck("text=beside the quiet time");
    await addressWith(page, /pair=one/);
    await page.locator(".flame-pair").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  test("both graphs of a pair show the frame that one is zoomed to, and back undoes it", async () => {
    const { page, complaints } = await opened();
    await page.waitForSelector(`${PAIR} .quiet canvas`);
    await clickFrame(page, "quiet", 0.5, 2);
    await addressWith(page, /z=\d+,run/);
    expect(await page.locator(".flame-pair .frame-line .name").allTextContents()).toEqual(["run", "run"]);
    expect(await page.locator(".flame-pair .frame-line h2").allTextContents()).toEqual(["slow time", "quiet time"]);
    await page.click(".quiet >> text=show all");
    await addressWith(page, NOT_ZOOMED);
    await clickFrame(page, "slow", 0.9, 1);
    await addressWith(page, /z=\d+,loop/);
    await page.waitForSelector(".quiet >> text=Nothing of loop in the quiet time.");
    await page.goBack();
    await addressWith(page, NOT_ZOOMED);
    await page.waitForSelector(".quiet canvas");
    await page.goBack();
    await addressWith(page, /z=\d+,run/);
    await page.mouse.move(4, 4);
    expect(await page.locator(".flame-pair .frame-line .name").allTextContents()).toEqual(["run", "run"]);
    expect(complaints).toEqual([]);
  });

  test("from the leaves both graphs show the same frame as well, and a link keeps it", async () => {
    const { page, complaints } = await opened();
    await page.click("text=from the leaves");
    await addressWith(page, /inv=1/);
    await page.waitForSelector(`${PAIR} .quiet canvas`);
    await clickFrame(page, "slow", 0.9, 1);
    await addressWith(page, /z=~[0-9a-f]+,C2Compiler::compile_method/);
    await page.waitForSelector(".quiet >> text=Nothing of C2Compiler::compile_method in the quiet time.");
    await page.goBack();
    await addressWith(page, NOT_ZOOMED);
    await page.waitForSelector(`${PAIR} .quiet canvas`);
    await clickFrame(page, "quiet", 0.5, 2);
    await addressWith(page, /z=~[0-9a-f]+,run/);
    await page.reload();
    await page.waitForSelector(`${PAIR} .quiet .frame-line .name`);
    expect(await page.locator(".flame-pair .frame-line .name").allTextContents()).toEqual(["run", "run"]);
    expect(complaints).toEqual([]);
  });

  test("where the quiet time has nothing of it the slow time has all the room", async () => {
    const { page } = await openedAt(sickWorld(), { hash: "#t=compiler", ready: ".lane canvas" });
    await page.waitForSelector(".flame-pair.alone .slow >> text=none in the quiet time");
    expect(await page.locator(".flame-pair .quiet").count()).toBe(0);
    const [graph, detail] = [page.locator(".flame-pair canvas"), page.locator(".flame-view")];
    expect((await graph.boundingBox())?.width).toBeCloseTo((await detail.boundingBox())?.width ?? 0, -1);
  });

  test("both graphs of a pair are scrolled together", async () => {
    const { page } = await openedAt(deepWorld(), { ready: `${PAIR} .quiet canvas` });
    const scrolledTo = (slow: number, quiet: number): Promise<unknown> =>
      page.waitForFunction(
        (wanted) =>
          [...document.querySelectorAll(".flame-pair .flame-scroll")].every(
            ({ scrollTop }, graph) => Math.abs(scrollTop - wanted[graph]) < 1,
          ),
        [slow, quiet],
      );
    const scroll = (side: string, top: number): Promise<void> =>
      page.locator(`.${side} .flame-scroll`).evaluate((graph, to) => graph.scrollTo({ top: to }), top);
    // Where most stacks part is in sight to begin with, in both.
    await page.waitForFunction(() => (document.querySelector(".quiet .flame-scroll")?.scrollTop ?? 0) > 100);
    for (const [side, top] of [
      ["slow", 36],
      ["quiet", 90],
      ["quiet", 36],
      ["slow", 0],
    ] as const) {
      await scroll(side, top);
      await scrolledTo(top, top);
    }
  });

  test("what is ruled out says for when, and why", async () => {
    const { page } = await opened();
    await page.click("text=1 ruled out");
    await page.waitForSelector("#ruled-out >> text=within the slow 22:13:30–22:13:50");
    expect(await page.textContent("#ruled-out")).toContain("what is said of lock_contention");
  });

  test("names of threads are whole in their titles, and say where they come from", async () => {
    const { page } = await opened();
    const title = await page.locator(".thread-label.thread").first().getAttribute("title");
    expect(title).toMatch(/^C2 CompilerThread-0\ntid 1004, CPU .*\nfrom jfr, run queue$/);
    const names = page.locator(".thread-label.thread");
    await page.locator(".thread-plot canvas").hover({ position: { x: 300, y: 8 } });
    await page.waitForSelector(".tip >> text=from jfr, run queue");
    // A name is cut in the middle where there is no room, and whole in the title.
    expect(await names.nth(2).getAttribute("title")).toContain("x".repeat(1_000));
    await page.click("text=Keys");
    expect(await page.textContent(".keys")).toContain("Ctrl + wheel on lanes: closer");
  });

  test("the sub-second view says what its colours stand for", async () => {
    const { page } = await opened();
    await page.click("#tab-subsecond");
    await page.waitForSelector(".subsecond-view .scale li");
    const scale = await page.locator(".subsecond-view .scale li").allTextContents();
    expect(scale.length).toBeGreaterThan(3);
    expect(scale.slice(-2)).toEqual([expect.stringMatching(/^\d+ ms or more$/), "in 20 ms"]);
    const colours = await page
      .locator(".subsecond-view .scale i")
      .evaluateAll((marks) => marks.map((mark) => getComputedStyle(mark).backgroundColor));
    expect(new Set(colours).size).toBe(scale.length - 1);
  });

  test("legends stand above the pictures of their lanes", async () => {
    const { page } = await opened();
    await page.click(".lane-chooser summary");
    await page.check(".lane-chooser >> text=code cache");
    const legend = await page.locator('[data-key="cache"] .legend').boundingBox();
    const picture = await page.locator('[data-key="cache"] canvas').boundingBox();
    expect(legend && picture && legend.y + legend.height).toBeLessThanOrEqual((picture?.y ?? 0) + 0.5);
  });

  test("lanes are pinned, folded, hidden and moved, and a link keeps them so", async () => {
    const { page } = await opened();
    const tool = async (lane: string, says: string): Promise<void> => {
      await page.locator(`[data-key="${lane}"]`).hover();
      await page.click(`[data-key="${lane}"] [aria-label="${says}"]`);
    };
    await tool("gc", "pin GC");
    await addressWith(page, /pin=compile_count,gc/);
    await tool("compile_count", "fold compilations");
    await addressWith(page, /thin=compile_count/);
    await tool("request_latency", "hide request latency");
    await page.locator('[data-key="gc"] .lane-label').dragTo(page.locator('[data-key="compile_count"] .lane-label'));
    await addressWith(page, /pin=gc,compile_count/);
    expect(await lanes(page)).toEqual(["latency", "gc", "compile_count"]);
    expect((await page.locator('[data-key="compile_count"]').boundingBox())?.height).toBeLessThan(26);
    await page.reload();
    await page.waitForSelector(".lane canvas");
    expect(await lanes(page)).toEqual(["latency", "gc", "compile_count"]);
  });

  test("a lane that was dragged among the pins is there after another cause", async () => {
    const { page } = await opened();
    await page.locator('[data-key="gc"] .lane-label').dragTo(page.locator('[data-key="compile_count"] .lane-label'));
    await addressWith(page, /pin=gc,compile_count/);
    await page.click(".cause >> text=Unexplained");
    await addressWith(page, /cause=unexplained/);
    expect(await lanes(page)).toContain("gc");
  });

  test("a click selects a mark and lists it, a double click goes there", async () => {
    const { page, complaints } = await opened();
    const box = await page.locator('[data-key="gc"] .plot').boundingBox();
    if (!box) throw new Error("there are no marks");
    // The pause of second 20, of 40 s.
    await page.mouse.move(box.x + box.width / 2 + 1, box.y + box.height - 4);
    await page.mouse.click(box.x + box.width / 2 + 1, box.y + box.height - 4);
    await addressWith(page, /s=20000000000\.\.20021000000.*v=spans.*k=gc_pause/);
    await page.waitForSelector(".detail table tbody tr");
    expect(await page.evaluate(() => location.hash)).not.toContain("&w=");
    await page.mouse.dblclick(box.x + box.width / 2 + 1, box.y + box.height - 4);
    const window = /w=(\d+)\.\.(\d+)/.exec(await addressWith(page, /w=\d/));
    expect(Number(window?.[2]) - Number(window?.[1])).toBeLessThan(1e9);
    expect(complaints).toEqual([]);
  });

  test("what is looked for in stacks is drawn on the axis", async () => {
    const { page, complaints } = await opened();
    const found = page.locator(".lane.found");
    expect(await found.count()).toBe(0);
    await page.fill(".flame-view input[type=search]", "C2Compiler");
    await page.waitForSelector(".lane.found");
    await page.mouse.move(4, 400);
    await page.waitForFunction(() =>
      /\d+ %/.test(document.querySelector(".lane.found .lane-value")?.textContent ?? ""),
    );
    const part = Number(/(\d+) %/.exec((await found.textContent()) ?? "")?.[1]);
    expect(part).toBeGreaterThan(5);
    expect(part).toBeLessThan(95);
    await page.click(".lane.found >> text=clear");
    await found.waitFor({ state: "detached" });
    expect(await page.inputValue(".flame-view input[type=search]")).toBe("");
    expect(complaints).toEqual([]);
  });

  test("a zoom is drawn on the axis, stays with another time, and is in the link", async () => {
    const { page } = await opened();
    await page.waitForSelector('.flame-view[aria-busy="false"] .flame-scroll canvas');
    await page
      .locator(".flame-scroll canvas")
      .first()
      .click({ position: { x: 40, y: 30 } });
    await addressWith(page, /z=\d+,/);
    await page.waitForSelector(".lane.found >> text=below");
    await page.click(".slow-times button");
    await addressWith(page, /s=\d/);
    await page.waitForSelector('.flame-view[aria-busy="false"] >> text=show all');
    await page.reload();
    await page.waitForSelector('.flame-view[aria-busy="false"] >> text=show all');
    await page.click(".flame-view >> text=show all");
    await page.locator(".lane.found").waitFor({ state: "detached" });
  });

  test("how full something is stands under what it may hold", async () => {
    const { page, complaints } = await opened();
    await page.click(".lane-chooser summary");
    await page.check(".lane-chooser >> text=code cache");
    await page.waitForSelector('[data-key="cache"] canvas');
    await page.mouse.move(4, 700);
    await page.waitForFunction(() => document.querySelector('[data-key="cache"]')?.textContent?.includes("of 4.77 MB"));
    expect(await page.textContent('[data-key="cache"] .legend')).toContain("GC");
    expect(complaints).toEqual([]);
  });

  test("a click on a slow request shows what its thread did", async () => {
    const { page, complaints } = await opened();
    const box = await page.locator('[data-key="latency"] .plot').boundingBox();
    if (!box) throw new Error("there is no picture of the requests");
    for (let y = 4; y < 40; y += 4) {
      await page.mouse.click(box.x + box.width / 2, box.y + y);
      await page.waitForTimeout(100);
      if ((await page.locator(".waterfall").count()) > 0) break;
    }
    await page.waitForSelector(".waterfall");
    await addressWith(page, /req=\d+\.\.\d+,2/);
    await page.waitForSelector("table.requests tbody tr");
    await page.locator("table.requests tbody tr").first().click();
    await page.waitForSelector("text=read after 4 ms");
    await page.click("text=show on the axis");
    await addressWith(page, /s=\d/);
    expect(complaints).toEqual([]);
  });

  test("paper has every row, and nothing is folded", async () => {
    const { page } = await opened();
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => document.querySelectorAll("details:not([open]):not(.lane-chooser)").length === 0);
    const cut = await page.evaluate(() =>
      [".side", ".time-body", ".detail"].filter((part) => {
        const element = document.querySelector(part);
        return element !== null && getComputedStyle(element).overflowY !== "visible";
      }),
    );
    expect(cut).toEqual([]);
    const pdf = await page.pdf({ format: "A4" });
    expect(pdf.length).toBeGreaterThan(20_000);
    await page.emulateMedia({ media: "screen" });
    await page.waitForFunction(() => document.querySelectorAll("#ruled-out[open]").length === 0);
  });
});
