//! A recording on disk: a folder `NAME.fathom/` of one file per table.
//!
//! While a recording is being written each table is an Arrow IPC stream that grows by whole batches, so that a killed
//! writer loses at most what it had not yet flushed. The file `journal` has the checksum of each batch, and is locked
//! by the writer as long as that lives. [`Finishing`] turns the streams into Parquet, and `manifest.json`, which has
//! the rows and checksums of all tables, makes the recording finished. Opening reads what is valid and is what was
//! written; the rest is reported as losses. Constraints:
//!
//! * **One crate knows Arrow's and Parquet's tables.** Building them takes longer than all that thinks about recordings.
//! * **No list of columns.** Tables show theirs ([`fathom_evidence::Table::values`]).
//! * **Files of others.** A folder may be damaged, cut or made by another program; nothing in it is trusted.

mod batch;
mod caught;
mod cut_off;
mod dictionaries;
mod error;
mod files;
mod finishing;
mod growing;
mod journal;
mod manifest;
mod opened;
mod pages;
mod rows;
mod stream;
mod whole;

use std::path::{Path, PathBuf};

pub use caught::is_caught;
pub use error::FolderError;
pub use finishing::Finishing;
pub use growing::FolderWriter;
pub use journal::{State, is_bare, state};
pub use opened::open;
pub use rows::{Cells, write_rows};
pub use whole::write;

/// Ending of a recording's folder.
pub const EXTENSION: &str = "fathom";

/// Whether `path` is a folder that holds tables.
pub fn is_recording(path: &Path) -> bool {
    let has = |name: &str| parquet_path(path, name).is_file() || stream_path(path, name).is_file();
    let is_begun = || journal::path(path).is_file() || manifest::path(path).is_file();
    path.is_dir()
        && (is_begun() || ["facts", "samples", "spans", "counters", "logs", "losses"].iter().any(|name| has(name)))
}

fn parquet_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

fn stream_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.arrows"))
}
