// A made-up recording looks like its references.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasBrowser, launch, pageWith, watched } from "./browser.ts";
import { expectPicture } from "./picture.ts";
import { sickWorld } from "./sick.ts";
import { packOf } from "./world.ts";

const isPossible = hasBrowser();
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
      await expectPicture(page, name);
    } finally {
      await page.close();
      remove();
    }
  });
});
