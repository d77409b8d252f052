// The data that `fathom explain --html` puts into the page: base64 of gzip of a header and Arrow streams.
//
// pack = header length (u32, little endian) · header (JSON) · parts. A part is decoded when it is first asked for.

import { Columns } from "../arrow.ts";
import type { Overview } from "../overview.ts";

interface Header {
  overview: Overview;
  markdown?: string;
  parts: { name: string; offset: number; length: number }[];
}

/** The opened pack. */
export class Pack {
  readonly overview: Overview;
  readonly markdown: string;
  readonly #parts = new Map<string, Uint8Array>();
  readonly #decoded = new Map<string, Columns | null>();

  constructor(bytes: Uint8Array) {
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Header;
    this.overview = header.overview;
    this.markdown = header.markdown ?? "";
    const begin = 4 + length;
    for (const { name, offset, length: size } of header.parts) {
      this.#parts.set(name, bytes.subarray(begin + offset, begin + offset + size));
    }
  }

  /** The columns of a part; `null` if the recording does not have it. */
  part(name: string): Columns | null {
    let columns = this.#decoded.get(name);
    if (columns === undefined) {
      const bytes = this.#parts.get(name);
      // Arrow buffers are read in place, which requires alignment.
      columns = bytes ? Columns.read(bytes.slice()) : null;
      this.#decoded.set(name, columns);
    }
    return columns;
  }
}

/** Unpacks the text of the page's data element. */
export async function unpack(base64: string): Promise<Pack> {
  const packed = new Blob([bytesOf(base64.trim())]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Pack(new Uint8Array(await new Response(stream).arrayBuffer()));
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const direct = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (direct.fromBase64) return direct.fromBase64(base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
