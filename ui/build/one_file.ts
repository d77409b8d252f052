// Puts the built script and style into the page itself: served, the first picture takes one request; as a file, it opens
// from disk.
//
// * The page's policy names what stands in it by its hash. No other script runs, whatever a recording's names contain.
// * The marker stands exactly once, before the script: data are there when it runs.

import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** Where `fathom` puts what it knows of a recording. */
export const DATA_MARKER = "<!--FATHOM-DATA-->";

/** What else a page may do: the file nothing, the served page what the server's own policy allows. */
const REST = { file: "; default-src 'none'; img-src data:", served: "" };

/** Inlines scripts and styles into `index.html` and drops their files. */
export function oneFile(use: keyof typeof REST): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("there is no index.html to put things into");
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += text(file.source);
        if (name !== "index.html") delete bundle[name];
      }
      page.source = assemble(text(page.source), script, style, REST[use]);
    },
  };
}

function assemble(page: string, script: string, style: string, rest: string): string {
  const bare = page
    .replace(/<script\b[^>]*><\/script>/g, "")
    .replace(/<link\b[^>]*rel="(stylesheet|modulepreload)"[^>]*>/g, "");
  const [safeScript, safeStyle] = [
    script.replaceAll("</script", "<\\/script"),
    style.replaceAll("</style", "<\\/style"),
  ];
  const policy = `script-src ${hashOf(safeScript)}; style-src ${hashOf(safeStyle)}${rest}`;
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}"><style>${safeStyle}</style></head>`;
  const body = `${DATA_MARKER}<script type="module">${safeScript}</script></body>`;
  return bare.replace("</head>", () => head).replace("</body>", () => body);
}

function hashOf(content: string): string {
  return `'sha256-${createHash("sha256").update(content, "utf8").digest("base64")}'`;
}

function text(source: string | Uint8Array): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source);
}
