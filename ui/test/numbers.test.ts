// The page says what the terminal says, to the digit, for every recording of the labs.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Explanation } from "../src/data/explanation.ts";
import { hasBrowser, launch, watched } from "./browser.ts";
import { fathom, hasProgram, LABS, labs, serve } from "./program.ts";

const isPossible = hasBrowser() && hasProgram();
let browser: Browser;

beforeAll(async () => {
  if (isPossible) browser = await launch();
});
afterAll(async () => browser?.close());

/** The terminal's text as one line: it breaks lines where the page does not. */
function said(recording: string): string {
  return fathom("explain", "--all", recording).replace(/\s+/g, " ");
}

/** Everything that is told about the causes, as the page shows it. */
async function checkNumbers(page: Page, recording: string): Promise<void> {
  const terminal = said(recording);
  const answer = JSON.parse(fathom("explain", "--json", recording)) as Explanation;
  const headline = (await page.textContent(".headline h1")) ?? "";
  expect(terminal).toContain(headline.replace(/^S|^N/, (letter) => letter.toLowerCase()));
  for (const figure of await page.locator(".figures > div").all()) {
    const [name, value] = [await figure.locator("dt").textContent(), await figure.locator("dd").textContent()];
    expect(terminal).toContain(`${name} ${value}`);
  }
  const named = answer.causes.filter(({ verdict }) => !["ruled_out", "not_enough"].includes(verdict));
  const shown = page.locator(".cause:not([data-cause=unexplained])");
  expect(await shown.count()).toBe(answer.slow.length > 0 ? named.length : 0);
  for (const [index, cause] of (answer.slow.length > 0 ? named : []).entries()) {
    const line = shown.nth(index);
    const [percent, word] = [
      await line.locator(".percent").textContent(),
      await line.locator(".verdict").textContent(),
    ];
    expect(terminal).toContain(`${percent?.replace(/–|harm/, "-")} ${cause.id} ${word}`);
    const button = line.locator("button");
    if ((await button.getAttribute("aria-expanded")) === "false") await button.click();
    await checkEvidence(page.locator(`.open-cause[data-cause="${cause.id}"]`), cause.evidence.length, terminal);
  }
}

async function checkEvidence(article: ReturnType<Page["locator"]>, count: number, terminal: string): Promise<void> {
  await article.waitFor();
  const more = article.locator(".evidence + .button");
  if ((await more.count()) > 0) await more.click();
  await article.locator(".evidence + .button").waitFor({ state: "detached" });
  const rows = await article.locator(".evidence tbody tr").all();
  expect(rows).toHaveLength(count);
  for (const row of rows) {
    const [says, value, baseline] = await row
      .locator("td")
      .evaluateAll((cells) => cells.map((cell) => cell.textContent ?? ""));
    const number = baseline.split(" ")[0];
    const compared = baseline === "" ? "" : ` (baseline ${number}`;
    expect(terminal).toMatch(new RegExp(`${asPrinted(says)} ${escaped(value + compared)}`));
  }
}

/** The terminal leaves out the middle of long names. */
function asPrinted(says: string): string {
  return says.length <= 40 ? escaped(says) : `${escaped(says.slice(0, 20))}.{0,60}${escaped(says.slice(-18))}`;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

describe.runIf(isPossible)("the served page and the terminal agree", () => {
  test.each(labs())("%s", async (lab) => {
    const server = await serve(join(LABS, lab));
    const { page, complaints } = await watched(browser);
    try {
      await page.goto(server.url);
      await page.waitForSelector(".headline h1");
      await checkNumbers(page, join(LABS, lab));
      await page.waitForSelector('.flame-view[aria-busy="false"] canvas, .flame-view .note');
      expect(complaints).toEqual([]);
    } finally {
      await page.close();
      server.stop();
    }
  });
});

describe.runIf(isPossible)("the single file and the terminal agree", () => {
  const folder = isPossible ? mkdtempSync(join(tmpdir(), "fathom-numbers-")) : "";
  afterAll(() => folder !== "" && rmSync(folder, { recursive: true }));
  const some = ["code_cache_churn-sick-jdk17", "healthy_server-healthy-jdk25", "long_time_to_safepoint-sick-jdk17"];
  test.each(some)("%s", async (lab) => {
    const file = join(folder, `${lab}.html`);
    fathom("explain", "--html", file, join(LABS, lab));
    const { page, complaints } = await watched(browser);
    await page.goto(`file://${file}`);
    await page.waitForSelector(".headline h1");
    await checkNumbers(page, join(LABS, lab));
    await page.waitForSelector('.flame-view[aria-busy="false"] canvas');
    expect(complaints).toEqual([]);
    await page.close();
  });
});
