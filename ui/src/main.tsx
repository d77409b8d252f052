// The entry point of the page. The data are in the page itself, or on the server that served it.

import { render } from "preact";
import { FileLibrary } from "./data/file/index.ts";
import { unpack } from "./data/file/pack.ts";
import type { Overview } from "./data/overview.ts";
import { ServedLibrary } from "./data/served.ts";
import type { Library } from "./data/source.ts";
import { App } from "./shell/app.tsx";
import { startAppearance } from "./state/appearance.ts";
import { followOther } from "./state/ghost.ts";
import { failure, messageOf, start } from "./state/store.ts";
import "./style/page.css";

async function findLibrary(): Promise<Library> {
  const data = document.getElementById("fathom-data");
  if (!data) return new ServedLibrary("", overviewInPage());
  const packed = data.textContent ?? "";
  data.remove();
  return new FileLibrary(await unpack(packed));
}

/** A server with one recording puts its overview into the page, so the first picture needs no further request. */
function overviewInPage(): Overview | null {
  const text = document.getElementById("fathom-overview")?.textContent;
  return text ? (JSON.parse(text) as Overview) : null;
}

const page = document.getElementById("page");
if (page) {
  startAppearance();
  followOther();
  render(<App />, page);
  findLibrary().then(start, (error: unknown) => {
    failure.value = `the data of this page are damaged: ${messageOf(error)}`;
  });
}
