// Prints the text of a recording's page, and saves a picture of its initial view: node figures.mjs PAGE PICTURE QUESTIONS
//
// QUESTIONS is JSON: `from` and `to` of the time to pick (ns since the origin), kinds of spans and events of samples to query.

import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../../ui/package.json", import.meta.url))("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"];
const SCREEN = { width: 1280, height: 800 };

const [path, picture, questions] = process.argv.slice(2);
const { from, to, kinds, events } = JSON.parse(questions);

async function main() {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  try {
    const page = await browser.newPage({ viewport: SCREEN });
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
    await page.goto(`file://${path}`);
    await page.waitForSelector(".headline h1");
    await page.waitForFunction(() => document.querySelectorAll('[aria-busy="true"]').length === 0);
    await page.waitForTimeout(300);
    await page.screenshot({ path: picture });
    const answer = await read(page);
    const spans = {};
    for (const kind of kinds) spans[kind] = await asked(page, `v=spans&k=${kind}`, ".spans-view");
    const samples = {};
    for (const event of events) samples[event] = await asked(page, `v=flame&pair=one&e=${event}`, ".flame-view");
    console.log(JSON.stringify({ ...answer, spans, samples, complaints }));
  } finally {
    await browser.close();
  }
}

/** The text at the side: the answer. */
async function read(page) {
  const causes = {};
  for (const line of await page.locator(".cause").all()) {
    const id = await line.getAttribute("data-cause");
    const button = line.locator("button").first();
    const verdict = (await line.locator(".verdict").count()) > 0 ? await line.locator(".verdict").textContent() : "";
    causes[id] = { percent: await line.locator(".percent").textContent(), verdict };
    if (id === "unexplained") continue;
    if ((await button.getAttribute("aria-expanded")) === "false") await button.click();
    const article = page.locator(`.open-cause[data-cause="${id}"]`);
    await article.waitFor();
    const more = article.locator(".evidence + .button");
    if ((await more.count()) > 0) await more.click();
    causes[id].evidence = await article.locator(".evidence tbody tr").evaluateAll(cellsOf);
  }
  return {
    causes,
    headline: await page.textContent(".headline h1"),
    figures: await page
      .locator(".figures > div")
      .evaluateAll((rows) => rows.map((row) => ["dt", "dd"].map((part) => row.querySelector(part).textContent))),
    counts: await page.locator(".counts").allTextContents(),
  };
}

function cellsOf(rows) {
  return rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
}

/** The sum that a view shows for the whole recording. */
async function asked(page, hash, view) {
  const before = await page.evaluate((selector) => document.querySelector(selector)?.dataset.answers ?? "", view);
  await page.evaluate((next) => { location.hash = next; }, `cause=none&l=none&s=${from}..${to}&${hash}`);
  await page.waitForSelector(view);
  if (view === ".flame-view") {
    await page.waitForFunction(
      ([selector, old]) => document.querySelector(selector).dataset.answers !== old,
      [view, before],
    );
  }
  await page.waitForTimeout(150);
  await page.waitForSelector(`${view}[aria-busy="false"]`);
  return page.locator(`${view} .toolbar > .muted`).last().textContent();
}

await main();
