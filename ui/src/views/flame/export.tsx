// Exports the selection as a file of another tool: links that the server answers.

import type { JSX } from "preact";
import type { ExportFormat } from "../../data/source.ts";
import { overview, selection, source } from "../../state/store.ts";

/** Formats with their file extensions and tools. */
const FORMATS: readonly (readonly [ExportFormat, string, string])[] = [
  ["firefox", ".json", "Firefox Profiler"],
  ["perfetto", ".pftrace", "Perfetto"],
  ["speedscope", ".speedscope.json", "speedscope"],
  ["pprof", ".pb.gz", "pprof"],
  ["otlp", ".otlp", "OpenTelemetry"],
  ["collapsed", ".txt", "collapsed stacks"],
  ["csv", ".csv", "CSV"],
];

export function Export(): JSX.Element | null {
  const from = source.value;
  const picked = selection.value;
  if (!from || picked.event === "" || from.exported(picked, "csv") === null) return null;
  const name = (overview.value?.name ?? "recording").replace(/\.[a-z]+$/, "");
  return (
    <details class="export">
      <summary>save as</summary>
      <div class="export-formats">
        {FORMATS.map(([format, ending, title]) => (
          <a key={format} href={from.exported(picked, format) ?? ""} download={`${name}${ending}`} data-format={format}>
            {title}
          </a>
        ))}
      </div>
    </details>
  );
}
