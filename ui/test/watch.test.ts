// The page of a folder that a service fills: incidents and JVMs in trouble are on the first screen, with a scale on their bars.

import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Incident, WatchedJvm, WatchedMinute } from "../src/data/watched.ts";
import { hasBrowser, launch, watched } from "./browser.ts";
import { expectPicture } from "./picture.ts";

const isPossible = hasBrowser();
/** Nothing listens there: every request is answered by the test. */
const ADDRESS = "http://127.0.0.1:1/token/";
const HOUR_NS = "1795600800000000000";

function jvm(service: string, pid: number, bad: number, slow_ms: number): WatchedJvm {
  const minutes = Array.from({ length: 60 }, (_, at): WatchedMinute => {
    const isBad = at >= 40 && at < 40 + bad;
    return {
      at,
      requests: 600 + ((at * 7) % 40),
      seconds: 60,
      p95_ms: isBad ? slow_ms : 2 + (at % 5),
      max_ms: isBad ? 3 * slow_ms : 9 + ((at * 3) % 11),
      stop_ms: at % 9,
      triggers: isBad ? "latency" : null,
      incident: null,
    };
  });
  return { service, pid, java: "25", collector: "G1", container: null, minutes };
}

function incident(number: number): Incident {
  return {
    id: `incident-${number}`,
    recording: number,
    service: "checkout",
    pid: 4242,
    at_ns: String(BigInt(HOUR_NS) - BigInt(number) * 600_000_000_000n),
    why: "requests took 3.2 s (95th percentile), 40 times as long as usual",
    says: "waits for locks",
    cause: "lock_contention",
    verdict: "shown",
    share: 0.93,
    times_today: number,
  };
}

const WATCHED = {
  schema: 1,
  is_running: true,
  from_ns: HOUR_NS,
  jvms: [
    ...Array.from({ length: 9 }, (_, number) => jvm(`quiet-${number}`, 100 + number, 0, 0)),
    jvm("search", 11, 3, 240),
    jvm("checkout", 4242, 12, 3_200),
  ],
  incidents: Array.from({ length: 23 }, (_, number) => incident(number + 1)),
};

describe.runIf(isPossible)("the page of a watched folder", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => browser?.close());

  test("trouble comes first, and bars have a scale", async () => {
    const { page, complaints } = await watched(browser);
    const built = readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");
    await page.route(`${ADDRESS}**`, (route) => {
      const path = new URL(route.request().url()).pathname;
      if (path.endsWith("/api/watched")) return route.fulfill({ json: WATCHED });
      if (path.endsWith("/api/recordings")) return route.fulfill({ json: [] });
      return route.fulfill({ body: built, contentType: "text/html" });
    });
    await page.goto(ADDRESS);
    await page.waitForSelector(".watched .hour");
    const names = await page.locator(".watched table:has(.hour) tbody strong").allTextContents();
    expect(names.slice(0, 2)).toEqual(["checkout", "search"]);
    const lines = await page.locator(".watched .hour").first().locator(".mark text").allTextContents();
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines.every((line) => /^\d+ (ms|s)$/.test(line))).toBe(true);
    const bottom = async (selector: string): Promise<number> => {
      const box = await page.locator(selector).first().boundingBox();
      return (box?.y ?? 9_999) + (box?.height ?? 0);
    };
    expect(await bottom(".incidents table")).toBeLessThan(800);
    expect(await bottom(".watched .hour")).toBeLessThan(800);
    expect(await page.locator(".incidents tbody tr").count()).toBe(5);
    await expectPicture(page, "watched");
    await page.click("text=all 23 incidents");
    expect(await page.locator(".incidents tbody tr").count()).toBe(23);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
