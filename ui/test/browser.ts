// A real browser for the tests, and pages in it.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
/** As root and without a network; the page is what is tested, not what the browser fetches for itself. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Whether there is a browser; says so loudly if not. */
export function hasBrowser(): boolean {
  const isThere = existsSync(CHROMIUM);
  if (!isThere) console.log("SKIPPED: chromium is not installed");
  return isThere;
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** A page and what went wrong on it. */
export interface Watched {
  page: Page;
  /** Errors of scripts, dialogs, and requests that leave the page's own origin. */
  complaints: string[];
}

export async function watched(
  browser: Browser,
  options: { dark?: boolean; width?: number; height?: number } = {},
): Promise<Watched> {
  const { dark = false, width = 1280, height = 800 } = options;
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    timezoneId: "UTC",
  });
  // What is not there by then will not come: a broken page fails soon.
  page.setDefaultTimeout(12_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && complaints.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file:|data:|blob:|http:\/\/127\.0\.0\.1:)/.test(request.url()))
      complaints.push(`request: ${request.url()}`);
  });
  return { page, complaints };
}

/** The self-contained page with a pack in it, as the program writes it. */
export function pageWith(pack: Uint8Array): { url: string; remove: () => void } {
  const built = readFileSync(new URL("../dist-single/index.html", import.meta.url), "utf8");
  const data = `<script type="application/octet-stream" id="fathom-data">${gzipSync(pack).toString("base64")}</script>`;
  const folder = mkdtempSync(join(tmpdir(), "fathom-page-"));
  const file = join(folder, "page.html");
  writeFileSync(
    file,
    built.replace("<!--FATHOM-DATA-->", () => data),
  );
  return { url: `file://${file}`, remove: () => rmSync(folder, { recursive: true }) };
}
