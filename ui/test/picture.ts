// Reference pictures: the page looks as it did when somebody last looked at it. `FATHOM_BLESS=1` takes new ones.
//
// Fonts and their edges differ a little between machines, so a part of the pixels may differ.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Part of the pixels that may differ by more than a shade. */
const TOLERANCE = 0.03;
/** Of 255: less is an edge of a letter, or what was lost in keeping the picture small. */
const SHADE = 40;
/** References are kept in a third of the room of PNG, and look the same. */
const FORMAT = "image/webp";
const QUALITY = 0.6;

/** The page looks like its reference. */
export async function expectPicture(page: Page, name: string): Promise<void> {
  const picture = await pictureAtRest(page);
  const reference = fileURLToPath(new URL(`./pictures/${name}.webp`, import.meta.url));
  if (process.env.FATHOM_BLESS === "1") await savePicture(page, picture, reference);
  expect(existsSync(reference)).toBe(true);
  expect(await difference(page, readFileSync(reference), picture)).toBeLessThan(TOLERANCE);
}

/** A picture of what comes to rest: two in a row are the same. */
export async function pictureAtRest(page: Page): Promise<Buffer> {
  let last: Buffer = Buffer.alloc(0);
  for (let look = 0; look < 50; look += 1) {
    const now = await page.screenshot();
    if (now.equals(last)) return now;
    last = now;
    await page.waitForTimeout(100);
  }
  throw new Error("the page does not come to rest");
}

/** Keeps a picture, made small by the browser. */
export async function savePicture(page: Page, picture: Buffer, path: string): Promise<void> {
  const url = await page.evaluate(
    async ([from, format, quality]) => {
      const image = new Image();
      image.src = from;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext("2d")?.drawImage(image, 0, 0);
      return canvas.toDataURL(format, quality);
    },
    [urlOf(picture, "image/png"), FORMAT, QUALITY] as const,
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
}

function urlOf(picture: Buffer, format: string): string {
  return `data:${format};base64,${picture.toString("base64")}`;
}

/** Part of the pixels that differ by more than a shade; the browser decodes the pictures. */
function difference(page: Page, reference: Buffer, picture: Buffer): Promise<number> {
  return page.evaluate(
    async ([first, second, shade]) => {
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
        if (most > shade) differing += 1;
      }
      return differing / (one.width * one.height);
    },
    [urlOf(reference, FORMAT), urlOf(picture, "image/png"), SHADE] as const,
  );
}
