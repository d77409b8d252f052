// At 1280×800 nobody has to scroll or click to see why a lab was slow: the cause, the slow time, the lanes that show it, and the
// stacks that belong to it are there from the beginning.
//
// `FATHOM_LABS=DIR` looks at labs that were run here as well, for each of which `fathom lab run NAME -o DIR/NAME` has made a folder,
// and leaves a picture of each in DIR.

import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CauseVerdict, Explanation } from "../src/data/explanation.ts";
import { hasBrowser, launch, watched } from "./browser.ts";
import { expectPicture, pictureAtRest, savePicture } from "./picture.ts";
import { fathom, hasProgram, LABS, TESTDATA } from "./program.ts";

const isPossible = hasBrowser() && hasProgram();
/** Whose stacks belong to each of them. */
const STACKS: readonly (readonly [lab: string, event: string])[] = [
  ["allocation_pressure-sick-jdk25", "allocation"],
  ["code_cache_churn-sick-jdk17", "execution"],
  ["code_cache_full-sick-jdk25", "execution"],
  ["deoptimization_storm-sick-jdk17", "spans/deoptimization"],
  ["explicit_gc-sick-jdk17", "spans/system_gc"],
  ["full_gc_old_generation_full-sick-jdk25", "allocation"],
  ["jit_warm_up-sick-jdk25", "execution"],
  ["lock_contention-sick-jdk17", "waits/lock"],
  ["long_time_to_safepoint-sick-jdk17", "execution"],
  ["more_traffic-sick-jdk17", "execution"],
  ["slow_downstream-sick-jdk25", "waits/service"],
];
const RUN_HERE = process.env.FATHOM_LABS ?? "";

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

  /** The page of a recording, and what it should show first. */
  async function look(recording: readonly string[], then: (page: Page, cause: CauseVerdict) => Promise<void>) {
    const file = join(folder, "page.html");
    fathom("explain", "--html", file, ...recording);
    const answer = JSON.parse(fathom("explain", "--json", ...recording)) as Explanation;
    const { page, complaints } = await watched(browser);
    try {
      await page.goto(`file://${file}`);
      await page.waitForSelector(".headline h1");
      await expectCauseInSight(page, answer.causes[0]);
      await then(page, answer.causes[0]);
      expect(complaints).toEqual([]);
    } finally {
      await page.close();
    }
  }

  test.each(STACKS)("%s shows the stacks of %s", async (lab, event) => {
    await look([join(LABS, lab)], async (page, cause) => {
      expect(cause.look?.event).toBe(event);
      await expectPicture(page, `labs/${lab}`);
    });
  });

  test("a recording of the kernel as well: waits, a stop, threads that end, other programs", async () => {
    await look([join(TESTDATA, "page", "mixed")], async (page) => {
      await expectPicture(page, "kernel");
      await page.click(".cause >> text=Process stopped from outside");
      await page.waitForFunction(() => document.querySelectorAll(".flag").length === 1);
      await expectPicture(page, "stopped");
    });
  });

  test.runIf(RUN_HERE !== "").each(runHere())("%s, which was run here", async (name, recording) => {
    await look(recording, async (page) => {
      await savePicture(page, await pictureAtRest(page), join(RUN_HERE, `${name}.webp`));
    });
  });
});

/** Recordings of labs that were run here, with the latencies that their clients measured, by name. */
function runHere(): [name: string, recording: string[]][] {
  if (RUN_HERE === "") return [];
  const labs = readdirSync(RUN_HERE, { recursive: true, encoding: "utf8" });
  const recordings = labs.filter((path) => /^[^/]+\/[^/]+\/recording\.fathom$/.test(path)).sort();
  return recordings.map((path) => {
    const [lab, variant] = path.split("/");
    const latency = join(RUN_HERE, lab, variant, "latency.csv");
    const measured = existsSync(latency) ? ["--latency", latency] : [];
    return [`${lab}-${variant}`, [join(RUN_HERE, path), ...measured]];
  });
}

async function expectCauseInSight(page: Page, { id, look }: CauseVerdict): Promise<void> {
  const isOfStacks = (look?.event ?? "") !== "";
  const below = isOfStacks ? '.flame-view[aria-busy="false"] .flame-scroll canvas' : ".detail canvas, .detail table";
  await page.waitForSelector(below);
  const worst = (look?.worst ?? []).length > 0 ? [".flag"] : [];
  const always = [".headline h1", `.cause[data-cause="${id}"]`, ".open-cause .actions", ".lane.pain", ".band"];
  await expectInSight(page, [...always, ...worst, below]);
  expect(await page.locator(".side").evaluate((side) => side.scrollWidth - side.clientWidth)).toBe(0);
  const pins = (await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("pin")))?.split(",") ?? [];
  expect(pins.length).toBeGreaterThan(0);
  await expectInSight(
    page,
    pins.map((key) => `.lane[data-key=${JSON.stringify(decodeURIComponent(key))}]`),
  );
  expect(await coveringLegends(page)).toEqual([]);
  if (isOfStacks) expect(await page.locator(".picked-bar select").first().inputValue()).toBe(look?.event);
}

/** Legends that lie on a picture of a lane. */
function coveringLegends(page: Page): Promise<(string | null)[]> {
  return page.evaluate(() => {
    const pictures = [...document.querySelectorAll(".time-body canvas")].map((one) => one.getBoundingClientRect());
    const isCovering = (legend: Element): boolean => {
      const { left, right, top, bottom } = legend.getBoundingClientRect();
      const isOn = (one: DOMRect): boolean =>
        left < one.right && right > one.left && top < one.bottom - 0.5 && bottom > one.top + 0.5;
      return pictures.some(isOn);
    };
    return [...document.querySelectorAll(".time-body .legend")].filter(isCovering).map((one) => one.textContent);
  });
}

/** Each of them is on the screen, and nothing that scrolls cuts it off; of what is higher than the screen the beginning. */
async function expectInSight(page: Page, wanted: readonly string[]): Promise<void> {
  await page.waitForFunction((selectors) => selectors.every((one) => document.querySelector(one) !== null), wanted);
  const hidden = await page.evaluate((selectors) => {
    const isSeen = (element: Element): boolean => {
      // Of stacks what is scrolled to is seen.
      const shown = element.closest(".flame-scroll") ?? element;
      const { left, top, width, height } = shown.getBoundingClientRect();
      const scroller = shown.closest(".time-body, .side")?.getBoundingClientRect();
      const bottom = Math.min(scroller?.bottom ?? innerHeight, innerHeight);
      return width > 0 && height > 0 && left >= 0 && top >= 0 && top + Math.min(height, 12) <= bottom;
    };
    return selectors.filter((one) => ![...document.querySelectorAll(one)].some(isSeen));
  }, wanted);
  expect(hidden).toEqual([]);
}
