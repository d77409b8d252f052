// Measures the page of one recording in Chromium, served and as a single file: node measure.mjs PROGRAM RECORDING
// Measures how long a page takes to open from disk: node measure.mjs --open PAGE
//
// Times are taken inside the page with its own clock. They end with the frame after which the picture is visible.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { chromium } = createRequire(new URL("../../ui/package.json", import.meta.url))("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const SELECTIONS = 15;
/** How long a new Chromium window keeps loading its own menus. */
const WINDOW_MS = 3_000;
const PAN_FRAMES = 240;
/** A picture is complete when a frame with the answer has been drawn. */
const PICTURE = ".headline h1";
const FLAME = '.flame-view[aria-busy="false"] canvas, .flame-view[aria-busy="false"] .note';

const [program, recording] = process.argv.slice(2);

async function main() {
  if (program === "--open") return openOnly(recording);

  const folder = mkdtempSync(join(tmpdir(), "fathom-bench-page-"));
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  try {
    const window = await openWindow(browser);
    const { extent, ...served } = await measureServed(window);
    const file = await measureFile(window, join(folder, "page.html"), extent);
    console.log(JSON.stringify({ ...served, ...file }));
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From the navigation to the frame after everything has been loaded, median of three. */
async function openOnly(path) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  try {
    const window = await openWindow(browser);
    const took = [];
    for (let run = 0; run < 3; run += 1) {
      const page = await window.newPage();
      await page.goto(`file://${path}`, { waitUntil: "load", timeout: 120_000 });
      took.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))));
      await page.close();
    }
    console.log(JSON.stringify({ opens_ms: median(took).toFixed(0) }));
  } finally {
    await browser.close();
  }
}

/** A window with one empty tab. Measured pages open in further tabs. */
async function openWindow(browser) {
  const window = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const tab = await window.newPage();
  await tab.waitForTimeout(WINDOW_MS);
  return window;
}

async function measureServed(window) {
  const begun = performance.now();
  const server = spawn(program, ["open", recording], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const url = await addressOf(server);
    await isLoaded(url);
    const load_s = ((performance.now() - begun) / 1000).toFixed(1);
    const first = [];
    for (let run = 0; run < 5; run += 1) first.push(await firstPicture(window, `${url}#r=0`));
    const page = await opened(window, `${url}#r=0`);
    const { events, from, to, roles, threads_count } = await (await fetch(`${url}api/r/0/overview`)).json();
    const extent = { from, to };
    const samples = events.reduce((sum, event) => sum + event.samples, 0).toLocaleString("en-US");
    const flame_ms = median(await selections(page, extent));
    const page_mb = await heapMb(window, page);
    await page.close();
    // With all threads of all roles, not only the first of each.
    const wide = await opened(window, `${url}#r=0&open=${roles.map(({ id }) => id).join()}`);
    const frames = await pan(wide);
    await wide.close();
    return {
      extent,
      threads: String(threads_count),
      page_mb,
      server_mb: peakMb(server.pid),
      recording_mb: (sizeOf(recording) / 1e6).toFixed(0),
      samples,
      load_s,
      first_picture_ms: median(first).toFixed(0),
      flame_ms: flame_ms.toFixed(0),
      pan_fps: (1000 / median(frames)).toFixed(0),
      pan_slowest_ms: Math.max(...frames).toFixed(0),
    };
  } finally {
    server.kill("SIGINT");
  }
}

async function measureFile(window, path, extent) {
  execFileSync(program, ["explain", "--html", path, recording], { stdio: ["ignore", "ignore", "pipe"] });
  const size = statSync(path).size;
  const url = `file://${path}`;
  const first = [];
  for (let run = 0; run < 3; run += 1) first.push(await firstPicture(window, url));
  const page = await opened(window, url);
  const flame = await selections(page, extent);
  await page.close();
  return {
    file_mb: (size / 1e6).toFixed(1),
    file_part: `${((100 * size) / sizeOf(recording)).toFixed(0)} %`,
    file_picture_ms: median(first).toFixed(0),
    file_flame_ms: median(flame).toFixed(0),
  };
}

/** The memory of the page's objects after its selections. */
async function heapMb(window, page) {
  const client = await window.newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  await client.send("Performance.enable");
  const { metrics } = await client.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "JSHeapUsedSize").value / 1e6).toFixed(0);
}

/** The peak memory of a process, as counted by the kernel. */
function peakMb(pid) {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1];
  return (Number(kib) / 1e3).toFixed(0);
}

function addressOf(server) {
  return new Promise((found, failed) => {
    let said = "";
    server.stdout.on("data", (bytes) => {
      said += bytes;
      const address = /http:\/\/\S+/.exec(said);
      if (address) found(address[0]);
    });
    server.on("exit", () => failed(new Error(`fathom open ended: ${said}`)));
  });
}

/** The first answer about a recording comes when it has been read. */
async function isLoaded(url) {
  const answer = await fetch(`${url}api/r/0/overview`);
  if (!answer.ok) throw new Error(await answer.text());
  await answer.arrayBuffer();
}

async function opened(window, url) {
  const page = await window.newPage();
  await page.goto(url);
  await page.waitForSelector(FLAME, { timeout: 120_000 });
  return page;
}

/** From the beginning of the navigation to the frame with the answer. */
async function firstPicture(window, url) {
  const page = await window.newPage();
  await page.addInitScript((picture) => {
    const look = () => {
      if (!document.querySelector(picture)) return requestAnimationFrame(look);
      // This is the frame that shows it. Everything later was already drawn.
      setTimeout(() => (window.firstPicture = performance.now()));
    };
    requestAnimationFrame(look);
  }, PICTURE);
  await page.goto(url);
  await page.waitForFunction(() => window.firstPicture, null, { timeout: 120_000 });
  const took = await page.evaluate(() => window.firstPicture);
  await page.close();
  return took;
}

/** From a new selection in the address to the frame with its flame graph. */
async function selections(page, extent) {
  const times = [];
  for (let run = 0; run < SELECTIONS; run += 1) {
    times.push(await page.evaluate(select, { run, ...extent }));
  }
  return times;
}

async function select({ run, from, to }) {
  // Ranges of ten lengths, from a twentieth to a half of the recording, at any position.
  const length = ((to - from) / 20) * (1 + (run % 10));
  const begin = Math.floor(from + ((to - from - length) * ((run * 37) % 100)) / 100);
  const parts = new URLSearchParams(location.hash.slice(1));
  parts.set("s", `${begin}..${Math.floor(begin + length)}`);
  const view = document.querySelector(".flame-view");
  const isAnswered = () => view.dataset.answers.includes(`"from":${begin},`);
  const answered = new Promise((done) => {
    const observer = new MutationObserver(() => {
      if (!isAnswered()) return;
      observer.disconnect();
      done();
    });
    observer.observe(view, { attributes: true, attributeFilter: ["data-answers"] });
  });
  const begun = performance.now();
  location.hash = parts.toString();
  await answered;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
}

/** The lengths of frames while the lanes are moved in each of them. */
async function pan(page) {
  return page.evaluate(async (count) => {
    const target = document.querySelector(".time-head .plot");
    const wheel = (deltaX, deltaY) =>
      target.dispatchEvent(new WheelEvent("wheel", { deltaX, deltaY, clientX: 900, clientY: 70, bubbles: true, cancelable: true }));
    for (let step = 0; step < 6; step += 1) wheel(0, -300);
    await new Promise((done) => setTimeout(done, 1000));
    const frames = [];
    let last = await new Promise(requestAnimationFrame);
    for (let frame = 0; frame < count; frame += 1) {
      wheel(frame < count / 2 ? 12 : -12, 0);
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    return frames.slice(5);
  }, PAN_FRAMES);
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function sizeOf(path) {
  const about = statSync(path);
  return about.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0) : about.size;
}

await main();
