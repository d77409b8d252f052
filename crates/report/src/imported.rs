//! The summary of an import: what was read, what is missing, where it is now.

use std::path::Path;

use fathom_causes::explanation::LossNote;
use fathom_evidence::{Recording, RowCounts};
use serde::Serialize;

use crate::sheet::{Sheet, Tone, styled};
use crate::{TextOptions, units};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// A recording that was written.
#[derive(Debug, Clone, Serialize)]
pub struct Imported {
    /// Version of the JSON.
    pub schema: u32,
    /// The folder.
    pub folder: String,
    /// What was read, in order.
    pub files: Vec<ImportedFile>,
    /// Rows of each table.
    pub tables: RowCounts,
    /// What is missing.
    pub losses: Vec<LossNote>,
}

/// A file that was read.
#[derive(Debug, Clone, Serialize)]
pub struct ImportedFile {
    /// The file; the first one of a rotated log.
    pub path: String,
    /// Its format.
    pub format: String,
    /// How many rows it gave.
    pub rows: usize,
}

impl Imported {
    /// Sums up a recording that was written to `folder` from `files`, with so many rows and the losses of `recording`.
    pub fn new(folder: &Path, files: Vec<ImportedFile>, rows: RowCounts, recording: &Recording) -> Imported {
        let losses = recording.losses.rows().map(|loss| LossNote {
            source: recording.text(loss.source).to_owned(),
            kind: recording.text(loss.kind).to_owned(),
            says: recording.text(loss.says).to_owned(),
        });
        let folder = folder.display().to_string();
        Imported { schema: SCHEMA, folder, files, tables: rows, losses: losses.collect() }
    }
}

/// The same for a person.
pub fn text(imported: &Imported, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    let count = |rows: usize| units::amount(rows as f64, "count");
    for file in &imported.files {
        let what = format!("{} ({}, {} rows)", file.path, crate::text::spelled(&file.format), count(file.rows));
        sheet.labelled(0, 7, styled(Tone::Faint, "read"), &what);
    }
    sheet.labelled(0, 7, styled(Tone::Strong, "wrote"), &written(imported));
    for loss in &imported.losses {
        sheet.labelled(0, 7, styled(Tone::Warn, "lost"), &lost(loss));
    }
    sheet.render(options.color)
}

/// A loss with its source; many say already which file they are about.
fn lost(loss: &LossNote) -> String {
    let file = loss.says.split_once(": ").map_or("", |(file, _)| file);
    let source = loss.source.strip_suffix(file).map_or(loss.source.as_str(), str::trim_end);
    format!("{}: {}", crate::text::spelled(source), loss.says)
}

/// The folder and what is in it.
pub(crate) fn written(imported: &Imported) -> String {
    let RowCounts { facts, samples, spans, counters, logs } = imported.tables;
    let rows = [(facts, "facts"), (samples, "samples"), (spans, "spans"), (counters, "counters"), (logs, "log lines")];
    let rows: Vec<String> =
        rows.iter().map(|(rows, name)| format!("{} {name}", units::amount(*rows as f64, "count"))).collect();
    format!("{}: {}", imported.folder, rows.join(", "))
}
