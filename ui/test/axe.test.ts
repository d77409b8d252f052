// What axe-core finds wrong with the page for those who do not see it, or use no mouse: nothing.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launch, pageWith, watched } from "./browser.ts";
import { sickWorld } from "./sick.ts";
import { packOf } from "./world.ts";

const isPossible = hasBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TABS = ["flame", "frames", "subsecond", "spans", "log", "facts", "compare"];
let browser: Browser;

beforeAll(async () => {
  if (isPossible) browser = await launch();
});
afterAll(async () => browser?.close());

/** Rules that are broken, and by what. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: { run(): AxeResults } }).axe.run());
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
  );
}

describe.runIf(isPossible)("axe-core finds nothing", () => {
  test.each([
    ["light", { dark: false }],
    ["dark", { dark: true }],
    ["on a phone", { width: 390, height: 844 }],
  ])("%s", { timeout: 600_000 }, async (_, options) => {
    const { url, remove } = pageWith(packOf(sickWorld()));
    const { page } = await watched(browser, options);
    try {
      await page.goto(url);
      await page.waitForSelector(".flame-view canvas");
      expect(await findings(page)).toEqual([]);
      for (const tab of TABS) {
        if ((await page.locator(`#tab-${tab}`).count()) === 0) continue;
        await page.click(`#tab-${tab}`);
        await page.waitForSelector('[aria-busy="false"], .detail table, .detail p');
        expect(await findings(page)).toEqual([]);
      }
      await page.click(".lane-chooser summary");
      for (const fold of await page.locator(".side summary").all()) await fold.click();
      await page.click("#ruled-out li button");
      expect(await findings(page)).toEqual([]);
      await page.click(".top >> text=Keys");
      expect(await findings(page)).toEqual([]);
    } finally {
      await page.close();
      remove();
    }
  });
});
