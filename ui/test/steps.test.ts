// What a person does one after the other: causes and evidence lead to pictures, lanes are put where they are wanted, a request is
// looked into, Back undoes, and paper has all of it.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hasBrowser, type Watched } from "./browser.ts";
import { addressWith, opened as openedAt, openInBrowser } from "./opened.ts";
import { sickWorld } from "./sick.ts";

const isPossible = hasBrowser();
openInBrowser(isPossible);

function opened(): Promise<Watched> {
  return openedAt(sickWorld(), { ready: ".lane canvas" });
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

  test("names of threads are whole in their titles, and say where they come from", async () => {
    const { page } = await opened();
    const title = await page.locator(".thread-label.thread").first().getAttribute("title");
    expect(title).toContain("C2 CompilerThread-0\ntid ");
    await page.click("text=Keys");
    expect(await page.textContent(".keys")).toContain("Ctrl + wheel on lanes: closer");
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
