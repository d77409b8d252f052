// The page looks as it did when somebody last looked at it. `FATHOM_BLESS=1` takes new reference pictures.
//
// Fonts and their edges differ a little between machines, so a part of the pixels may differ.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launch, pageWith, watched } from "./browser.ts";
import { sickWorld } from "./sick.ts";
import { packOf } from "./world.ts";

const isPossible = hasBrowser();
/** Part of the pixels that may differ by more than a shade. */
const TOLERANCE = 0.03;
let browser: Browser;

beforeAll(async () => {
  if (isPossible) browser = await launch();
});
afterAll(async () => browser?.close());

const LOOKS = [
  { name: "light", hash: "", dark: false },
  { name: "dark", hash: "#s=12000000000..20000000000&heat=samples&inv=1", dark: true },
  { name: "compared", hash: "#b=baseline", dark: false },
  { name: "spans", hash: "#v=spans&cause=none", dark: true },
  { name: "seconds", hash: "#v=subsecond&t=compiler", dark: false },
];

describe.runIf(isPossible)("looks like its reference", () => {
  test.each(LOOKS)("$name", async ({ name, hash, dark }) => {
    const { url, remove } = pageWith(packOf(sickWorld()));
    const { page } = await watched(browser, { dark });
    try {
      await page.goto(`${url}${hash}`);
      await page.waitForSelector(".headline h1");
      await isAtRest(page);
      const picture = await page.screenshot();
      const reference = fileURLToPath(new URL(`./pictures/${name}.png`, import.meta.url));
      if (process.env.FATHOM_BLESS === "1") writeFileSync(reference, picture);
      expect(existsSync(reference)).toBe(true);
      expect(await difference(page, readFileSync(reference), picture)).toBeLessThan(TOLERANCE);
    } finally {
      await page.close();
      remove();
    }
  });
});

/** Waits until two pictures in a row are the same. */
async function isAtRest(page: Page): Promise<void> {
  let last = "";
  for (let look = 0; look < 50; look += 1) {
    const now = (await page.screenshot()).toString("base64");
    if (now === last) return;
    last = now;
    await page.waitForTimeout(100);
  }
  throw new Error("the page does not come to rest");
}

/** Part of the pixels that differ by more than a shade; the browser decodes the pictures. */
function difference(page: Page, a: Buffer, b: Buffer): Promise<number> {
  const urls = [a, b].map((bytes) => `data:image/png;base64,${bytes.toString("base64")}`);
  return page.evaluate(
    async ([first, second]) => {
      const pixels = async (url: string): Promise<ImageData> => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d");
        if (!context) throw new Error("no canvas");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [one, other] = [await pixels(first), await pixels(second)];
      if (one.width !== other.width || one.height !== other.height) return 1;
      let differing = 0;
      for (let at = 0; at < one.data.length; at += 4) {
        const most = Math.max(...[0, 1, 2].map((part) => Math.abs(one.data[at + part] - other.data[at + part])));
        if (most > 40) differing += 1;
      }
      return differing / (one.width * one.height);
    },
    urls as [string, string],
  );
}
