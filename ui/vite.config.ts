import { defineConfig } from "vitest/config";
import { oneFile } from "./build/one_file.ts";

// Two builds of the same sources: `dist/` is served (no inline script, relative addresses), and
// `dist-single/index.html` holds everything, with a marker where a recording's data go.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: mode === "single" ? [oneFile()] : [],
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
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
}));
