import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { oneFile } from "./build/one_file.ts";

// Two builds of the same sources, each one file with everything in it and a marker where a recording's data go:
// `dist/index.html` is served and asks its server, `dist-single/index.html` asks nobody.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [oneFile(mode === "single" ? "file" : "served")],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: mode === "single" ? "dist-single" : "dist",
    // The folders are tracked (the program embeds what is in them), and so the names are fixed.
    emptyOutDir: false,
    rolldownOptions: { output: { entryFileNames: "page.js", assetFileNames: "page[extname]" } },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: {
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.{ts,tsx}"] } },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Each file has a browser of its own, which waits a third of its time.
          maxWorkers: availableParallelism(),
        },
      },
    ],
  },
}));
