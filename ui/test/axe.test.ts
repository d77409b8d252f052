// What axe-core finds wrong with the page for those who do not see it, or use no mouse: nothing.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launch, pageWith, watched } from "./browser.ts";
import { findings } from "./findings.ts";
import { sickWorld } from "./sick.ts";
import { packOf } from "./world.ts";

const isPossible = hasBrowser();
const TABS = ["flame", "frames", "subsecond", "spans", "log", "facts", "compare"];
let browser: Browser;

beforeAll(async () => {
  if (isPossible) browser = await launch();
});
afterAll(async () => browser?.close());

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
