// The program that the page belongs to: what it says in the terminal, and what it serves.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const REPO = fileURLToPath(new URL("../..", import.meta.url));
const TARGET = resolve(REPO, process.env.CARGO_TARGET_DIR ?? "target");
/** Built by the tests of the program; `FATHOM` names another one. */
const PROGRAM = process.env.FATHOM ?? join(TARGET, "debug", "fathom");

export const TESTDATA = join(REPO, "testdata");
export const LABS = join(TESTDATA, "labs");

/** Whether the program was built; says so loudly if not. */
export function hasProgram(): boolean {
  const isThere = existsSync(PROGRAM);
  if (!isThere) console.log(`SKIPPED: ${PROGRAM} was not built: cargo build`);
  return isThere;
}

/** The recordings of the labs by name. */
export function labs(): string[] {
  return readdirSync(LABS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** What the program prints. */
export function fathom(...words: string[]): string {
  return execFileSync(PROGRAM, words, {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", TZ: "UTC", COLUMNS: "200" },
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 64 << 20,
  });
}

export interface Server {
  url: string;
  stop: () => void;
}

/** `fathom open`, as soon as it has printed its address. */
export function serve(...files: string[]): Promise<Server> {
  const server = spawn(PROGRAM, ["open", ...files], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((found, failed) => {
    let said = "";
    server.stdout.on("data", (bytes: Buffer) => {
      said += bytes.toString();
      const url = /http:\/\/\S+/.exec(said);
      if (url) found({ url: url[0], stop: () => stop(server) });
    });
    server.on("exit", (code) => failed(new Error(`fathom open ended with ${code}: ${said}`)));
  });
}

function stop(server: ChildProcess): void {
  server.removeAllListeners("exit");
  server.kill("SIGINT");
}
