// A folder of real recordings served: choosing one, checking a claim with two clicks, comparing sick with fixed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { duration } from "../src/base/numbers.ts";
import type { Explanation } from "../src/data/explanation.ts";
import type { Runs } from "../src/data/runs.ts";
import { hasBrowser, launch, type Watched, watched } from "./browser.ts";
import { fathom, hasProgram, LABS, type Server, serve } from "./program.ts";

const isPossible = hasBrowser() && hasProgram();
const SICK = "code_cache_churn-sick-jdk17";
const FIXED = "code_cache_churn-fixed-jdk17";
/** Requests were recorded, and quick. */
const HEALTHY = "healthy_server-healthy-jdk25";
/** How long requests took was recorded for a part of the time. */
const UNSEEN = "code_cache_full-fixed-jdk17";

describe.runIf(isPossible)("a folder of recordings", () => {
  let browser: Browser;
  let server: Server;
  let folder: string;
  let shown: Watched;

  beforeAll(async () => {
    browser = await launch();
    folder = mkdtempSync(join(tmpdir(), "fathom-served-"));
    for (const lab of [SICK, FIXED, HEALTHY, UNSEEN])
      fathom("import", join(LABS, lab), "--output", join(folder, `${lab}.fathom`));
    server = await serve(folder);
  });
  beforeEach(async () => {
    await shown?.page.close();
    shown = await watched(browser);
    await shown.page.goto(server.url);
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
    rmSync(folder, { recursive: true });
  });

  async function open(recording: string): Promise<void> {
    await shown.page.click(`text=${recording}`);
    await shown.page.waitForSelector(".headline h1");
  }

  test("what is picked is saved in the format of another tool", async () => {
    const { page, complaints } = shown;
    await open(SICK);
    await page.waitForSelector('.flame-view[aria-busy="false"] .export');
    await page.click(".export summary");
    const addresses = await page
      .locator(".export a")
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
    const sizes = await page.evaluate(
      (all) =>
        Promise.all(
          all.map(async (address) => {
            const answer = await fetch(address);
            return answer.ok ? (await answer.arrayBuffer()).byteLength : answer.status;
          }),
        ),
      addresses,
    );
    expect(sizes.map((size) => size > 1_000)).toEqual(Array(7).fill(true));
    // Half of the time has fewer samples than all of it.
    const stacks = async (address: string) => await page.evaluate((of) => fetch(of).then((a) => a.text()), address);
    const sum = (text: string) =>
      text
        .trim()
        .split("\n")
        .reduce((all, line) => all + Number(line.split(" ").at(-1)), 0);
    const collapsed = new URL(addresses.find((address) => address.includes("format=collapsed")) ?? "");
    const whole = sum(await stacks(collapsed.href));
    const [from, to] = ["from", "to"].map((name) => Number(collapsed.searchParams.get(name))) as [number, number];
    collapsed.searchParams.set("to", String(Math.floor((from + to) / 2)));
    const half = sum(await stacks(collapsed.href));
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(whole);
    // The link is a download.
    const [download] = await Promise.all([page.waitForEvent("download"), page.click('[data-format="otlp"]')]);
    expect(download.suggestedFilename()).toMatch(/\.otlp$/);
    expect(complaints).toEqual([]);
  });

  test("a list, and one of them opened", async () => {
    const { page, complaints } = shown;
    const row = (recording: string) => page.locator("tbody tr", { hasText: recording }).textContent();
    await page.waitForFunction(
      () => !(document.querySelector("tbody")?.textContent?.includes("not opened yet") ?? true),
    );
    expect(await page.locator("tbody tr").count()).toBe(4);
    expect(await row(SICK)).toContain("code_cache_churn");
    expect(await row(HEALTHY)).toContain("nothing was slow");
    expect(await row(UNSEEN)).toContain("no sign of slowness");
    await open(HEALTHY);
    expect(await page.textContent(".headline h1")).toBe("Nothing was slow");
    await page.goBack();
    await page.waitForSelector(`tbody tr:has-text("${SICK}")`);
    await page.goForward();
    await page.waitForSelector(".headline h1");
    await page.click("text=Recordings");
    await open(UNSEEN);
    expect(await page.textContent(".headline h1")).toMatch(
      /^No sign of slowness in what was recorded .+ was recorded for \d+ of \d+ s only$/,
    );
    await page.click("text=Recordings");
    await open(SICK);
    expect(await page.textContent(".cause")).toContain("Code cache churn");
    expect(complaints).toEqual([]);
  });

  test("a claim is checked with two clicks", async () => {
    const { page, complaints } = shown;
    await open(SICK);
    const answer = JSON.parse(fathom("explain", "--json", join(folder, `${SICK}.fathom`))) as Explanation;
    await page.click(".evidence >> text=compilations");
    await page.waitForFunction(() => document.querySelector(".picked-bar")?.textContent?.includes("picked"));
    const [first] = answer.causes[0].evidence;
    const seconds = Math.round((first.to_ns - first.from_ns) / 1e9);
    expect(await page.textContent(".picked-bar")).toContain(`${seconds} s`);
    for (const lane of ["compile_count", "compilation", "cache"]) {
      expect(await page.locator(`[data-lane="${lane}"]`).count()).toBe(1);
    }
    await page.click(".evidence >> text=interpreted share");
    await page.waitForSelector('.flame-view[aria-busy="false"] canvas');
    expect(await page.locator("#tab-flame").getAttribute("aria-selected")).toBe("true");
    expect(complaints).toEqual([]);
  });

  test("a frame is found, zoomed and taken apart", async () => {
    const { page, complaints } = shown;
    await open(SICK);
    await page.fill(".flame-view input[type=search]", "CodeCacheChurn.price");
    await page.waitForFunction(() =>
      /\d+ % in \d/.test(document.querySelector(".flame-view output")?.textContent ?? ""),
    );
    const flame = page.locator(".flame-scroll canvas").first();
    await flame.click({ position: { x: 60, y: 30 } });
    await page.click("text=callers and callees");
    await page.waitForSelector(".sandwich canvas");
    const frame = await page.locator(".sandwich h2 .name").textContent();
    expect(frame).toMatch(/^CodeCacheChurn\./);
    // The search went along: the table has only frames that match.
    const names = await page.locator(".frames-list tbody button").allTextContents();
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !name.includes("CodeCacheChurn.price"))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("sick beside fixed, and their difference", async () => {
    const { page, complaints } = shown;
    await open(SICK);
    await page.click("#tab-compare");
    await page.selectOption(".compare-view select", { label: `${FIXED}.fathom` });
    await page.waitForSelector('[aria-label="What differs"]');
    expect(await page.textContent('[aria-label="Verdict"]')).toMatch(/no verdict/i);
    await page.waitForSelector("table.compare");
    const pair = page.locator('.pairs li[data-cause="code_cache_churn"]');
    expect(await pair.locator(".pair.a").textContent()).toContain("shown");
    expect(await pair.locator(".pair.b").textContent()).not.toContain("shown");
    await page.waitForSelector('[aria-label="How long requests took"] canvas');
    expect(await page.textContent(".compare-names")).toContain("dashed on the lanes above");
    await page.click("text=differential flame graph");
    await page.waitForSelector("text=more than in the baseline");
    await page.waitForFunction(
      (name) => [...document.querySelectorAll(".picked-bar option")].some((one) => one.textContent === name),
      `${FIXED}.fathom`,
    );
    await page.waitForSelector('.flame-view[aria-busy="false"] canvas');
    expect(complaints).toEqual([]);
  });

  test("two ticks in the list compare", async () => {
    const { page, complaints } = shown;
    for (const recording of [SICK, FIXED]) await page.check(`tbody tr:has-text("${recording}") input`);
    await page.click("text=compare >> visible=true");
    await page.waitForSelector(".compare-view .pairs");
    expect(await page.locator("#tab-compare").getAttribute("aria-selected")).toBe("true");
    expect(await page.textContent(".compare-names")).toContain(SICK);
    expect(complaints).toEqual([]);
  });

  test("runs over time have the figures of the terminal", async () => {
    const { page, complaints } = shown;
    await page.click("text=runs over time");
    await page.waitForFunction(() => document.querySelectorAll('[aria-label="All runs"] tbody tr').length === 4);
    const { runs } = JSON.parse(fathom("runs", "--json", folder)) as Pick<Runs, "runs">;
    const rows = page.locator('[aria-label="All runs"] tbody tr');
    expect(await rows.locator("button").allTextContents()).toEqual(runs.map(({ name }) => name));
    const p50 = runs.map(({ latencies }) => (latencies ? duration(latencies.p50_ns) : "–"));
    expect(await rows.locator("td:nth-child(4)").allTextContents()).toEqual(p50);
    await rows.locator(`button:has-text("${SICK}")`).click();
    await page.waitForSelector(".headline h1");
    await page.goBack();
    await page.waitForSelector(".runs-view canvas");
    expect(complaints).toEqual([]);
  });

  test("an address that is set stays, even before it is read", async () => {
    const { page } = shown;
    // The browser tells of a new address a moment after it was set; here that moment is long.
    await page.addInitScript(() => {
      const held = (change: Event) => location.hash.includes("s=2") && change.stopImmediatePropagation();
      window.addEventListener("hashchange", held);
    });
    await page.reload();
    await open(SICK);
    const addresses = await page.evaluate(async () => {
      const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));
      const set = (from: number) => {
        const parts = new URLSearchParams(location.hash.slice(1));
        parts.set("s", `${from}..${from + 500_000_000}`);
        location.hash = parts.toString();
        return location.hash;
      };
      set(1_000_000_000);
      await wait(50);
      const wanted = set(2_000_000_000);
      await wait(500);
      return { wanted, found: location.hash };
    });
    expect(addresses.found).toBe(addresses.wanted);
  });

  test("a server that is gone leaves the pictures, and is asked again", async () => {
    const { page } = shown;
    await open(SICK);
    await page.waitForSelector('.flame-view[aria-busy="false"] canvas');
    const lanes = await page.locator(".lane").count();
    await page.route("**/api/**", (route) => route.abort());
    await page.click("text=from the leaves");
    await page.waitForSelector(".gone");
    expect(await page.textContent(".gone")).toContain("does not answer");
    expect(await page.locator(".lane").count()).toBe(lanes);
    expect(await page.locator(".flame-view canvas").count()).toBeGreaterThan(0);
    expect(await page.locator(".detail .note").count()).toBe(0);
    await page.unroute("**/api/**");
    // It may have asked by itself by now.
    await page.click("text=Try again", { timeout: 2_000 }).catch(() => undefined);
    await page.waitForSelector(".gone", { state: "detached" });
  });

  test("the answer as Markdown", async () => {
    const { page } = shown;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(SICK);
    await page.click("text=Copy as Markdown");
    await page.waitForSelector("text=copied");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain("code_cache_churn");
    expect(copied).toContain("-XX:ReservedCodeCacheSize");
  });
});
