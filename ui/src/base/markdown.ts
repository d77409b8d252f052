// Parses the few Markdown elements that the catalogue's pages use. Pure: text to a tree, never to HTML.

export type Inline = { kind: "text" | "code" | "strong"; text: string };

export type Block =
  | { kind: "paragraph"; inlines: Inline[] }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "code"; text: string };

/** The blocks of a text. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let code: string[] | null = null;
  let isOpen = false;
  for (const line of markdown.split("\n")) {
    if (line.trimStart().startsWith("```")) {
      if (code) blocks.push({ kind: "code", text: code.join("\n") });
      code = code ? null : [];
      isOpen = false;
    } else if (code) code.push(line);
    else if (line.trim() === "") isOpen = false;
    else {
      add(blocks, line, isOpen);
      isOpen = true;
    }
  }
  return blocks;
}

function add(blocks: Block[], line: string, continues: boolean): void {
  const last = blocks.at(-1);
  const item = /^\s*(?:[-*]|(\d+)\.)\s+(.*)$/.exec(line);
  if (item) {
    const inlines = inlinesOf(item[2]);
    if (last?.kind === "list") last.items.push(inlines);
    else blocks.push({ kind: "list", ordered: item[1] !== undefined, items: [inlines] });
    return;
  }
  const open = continues ? openInlines(last) : null;
  if (open) open.push({ kind: "text", text: " " }, ...inlinesOf(line.trim()));
  else blocks.push({ kind: "paragraph", inlines: inlinesOf(line.trim()) });
}

function openInlines(block: Block | undefined): Inline[] | null {
  if (block?.kind === "paragraph") return block.inlines;
  return block?.kind === "list" ? (block.items.at(-1) ?? null) : null;
}

/** Code, emphasis, and the text of links. */
export function inlinesOf(text: string): Inline[] {
  const inlines: Inline[] = [];
  const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  for (const part of plain.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (part.startsWith("`") && part.length > 2) inlines.push({ kind: "code", text: part.slice(1, -1) });
    else if (part.startsWith("**") && part.length > 4) inlines.push({ kind: "strong", text: part.slice(2, -2) });
    else if (part !== "") inlines.push({ kind: "text", text: part });
  }
  return inlines;
}
