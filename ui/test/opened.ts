// Single files of made-up recordings, opened in a browser that lives as long as the tests of one file.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { launch, pageWith, type Watched, watched } from "./browser.ts";
import { packOf, type World } from "./world.ts";

let browser: Browser;
const closers: (() => void)[] = [];

/** For the beginning of a file of tests: what was opened is closed after each of them. */
export function openInBrowser(isPossible: boolean): void {
  beforeAll(async () => {
    if (isPossible) browser = await launch();
  });
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });
  afterAll(async () => browser?.close());
}

/** A recording, shown as far as `ready` says. */
export async function opened(
  world: World,
  options: { hash?: string; ready?: string; width?: number; height?: number } = {},
): Promise<Watched> {
  const { hash = "", ready = ".headline h1", ...size } = options;
  const { url, remove } = pageWith(packOf(world));
  const shown = await watched(browser, size);
  closers.push(remove, () => void shown.page.close());
  await shown.page.goto(`${url}${hash}`);
  await shown.page.waitForSelector(ready);
  return shown;
}

/** The state as the address has it, once it says something: it is written a moment after a change. */
export async function addressWith(page: Page, part: RegExp): Promise<string> {
  await page.waitForFunction((source) => new RegExp(source).test(decodeURIComponent(location.hash)), part.source);
  return page.evaluate(() => decodeURIComponent(location.hash));
}
