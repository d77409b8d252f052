// At 1280×800 nobody has to scroll or click to see why a lab was slow: the cause, the slow time, the lanes that show it, and the
// stacks that belong to it are there from the beginning.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Explanation } from "../src/data/explanation.ts";
import { hasBrowser, launch, watched } from "./browser.ts";
import { fathom, hasProgram, LABS } from "./program.ts";

const isPossible = hasBrowser() && hasProgram();
/** Whose stacks belong to each of them. */
const STACKS: readonly (readonly [lab: string, event: string])[] = [
  ["allocation_pressure-sick-jdk25", "allocation"],
  ["code_cache_churn-sick-jdk17", "execution"],
  ["deoptimization_storm-sick-jdk17", "spans/deoptimization"],
  ["explicit_gc-sick-jdk17", "spans/system_gc"],
  ["full_gc_old_generation_full-sick-jdk25", "allocation"],
  ["lock_contention-sick-jdk17", "waits/lock"],
  ["long_time_to_safepoint-sick-jdk17", "execution"],
  ["slow_downstream-sick-jdk25", "waits/service"],
];

describe.runIf(isPossible)("a lab at first sight", () => {
  let browser: Browser;
  let folder: string;

  beforeAll(async () => {
    browser = await launch();
    folder = mkdtempSync(join(tmpdir(), "fathom-labs-"));
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  test.each(STACKS)("%s shows the stacks of %s", async (lab, event) => {
    const file = join(folder, `${lab}.html`);
    fathom("explain", "--html", file, join(LABS, lab));
    const answer = JSON.parse(fathom("explain", "--json", join(LABS, lab))) as Explanation;
    const [cause] = answer.causes;
    const { page, complaints } = await watched(browser);
    try {
      await page.goto(`file://${file}`);
      await page.waitForSelector('.flame-view[aria-busy="false"] .flame-scroll canvas');
      expect(cause.look?.event).toBe(event);
      await expectInSight(page, [
        ".headline h1",
        `.cause[data-cause="${cause.id}"]`,
        ".open-cause .actions",
        ".lane.pain",
        ".band",
        ".flag",
        ".flame-scroll canvas",
      ]);
      const pins =
        (await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("pin")))?.split(",") ?? [];
      expect(pins.length).toBeGreaterThan(0);
      await expectInSight(
        page,
        pins.map((key) => `.lane[data-key="${key}"]`),
      );
      expect(await page.locator(".picked-bar select").first().inputValue()).toBe(event);
      expect(complaints).toEqual([]);
    } finally {
      await page.close();
    }
  });
});

/** Each of them is on the screen, and nothing that scrolls cuts it off; of what is higher than the screen the beginning. */
async function expectInSight(page: Page, wanted: readonly string[]): Promise<void> {
  await page.waitForFunction((selectors) => selectors.every((one) => document.querySelector(one) !== null), wanted);
  const hidden = await page.evaluate((selectors) => {
    const isSeen = (element: Element): boolean => {
      const { left, top, width, height } = element.getBoundingClientRect();
      const scroller = element.closest(".time-body, .flame-scroll, .side")?.getBoundingClientRect();
      const bottom = Math.min(scroller?.bottom ?? innerHeight, innerHeight);
      return width > 0 && height > 0 && left >= 0 && top >= 0 && top + Math.min(height, 12) <= bottom;
    };
    return selectors.filter((one) => ![...document.querySelectorAll(one)].some(isSeen));
  }, wanted);
  expect(hidden).toEqual([]);
}
