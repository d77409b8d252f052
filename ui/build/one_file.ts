// Puts the built script and style into the page itself, so that it opens from disk.
//
// * Nothing is fetched: the page's own policy forbids it, whatever a recording's names may contain.
// * The marker stands exactly once, before the script: data are there when it runs.

import type { Plugin } from "vite";

/** Where `fathom` puts the data of a recording. */
export const DATA_MARKER = "<!--FATHOM-DATA-->";

const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/** Inlines scripts and styles into `index.html` and drops their files. */
export function oneFile(): Plugin {
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
      page.source = assemble(text(page.source), script, style);
    },
  };
}

function assemble(page: string, script: string, style: string): string {
  const bare = page
    .replace(/<script\b[^>]*><\/script>/g, "")
    .replace(/<link\b[^>]*rel="(stylesheet|modulepreload)"[^>]*>/g, "");
  const head = `<meta http-equiv="Content-Security-Policy" content="${POLICY}"><style>${style.replaceAll("</style", "<\\/style")}</style></head>`;
  const body = `${DATA_MARKER}<script type="module">${script.replaceAll("</script", "<\\/script")}</script></body>`;
  return bare.replace("</head>", () => head).replace("</body>", () => body);
}

function text(source: string | Uint8Array): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source);
}
