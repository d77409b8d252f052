//! Reading a folder, finished or not.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use fathom_evidence::kinds::{loss, subject};
use fathom_evidence::schema::SCHEMA_VERSION;
use fathom_evidence::tables::{StoredFrames, StoredStacks, StoredThreads};
use fathom_evidence::{Recording, Strings, Table};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::batch::{BATCH_ROWS, append_batch};
use crate::dictionaries::{MovedStacks, restore_dictionaries};
use crate::error::{FolderError, format_error, io_error};
use crate::{is_recording, parquet_path, stored_path};

/// Reads a finished or unfinished recording.
pub fn open(folder: &Path) -> Result<Recording, FolderError> {
    let (mut recording, moved, mut cut) = open_dictionaries(folder)?;
    macro_rules! read {
        ($($table:ident),+) => {$(
            cut.extend(read_table(folder, &mut recording.$table, &mut recording.strings)?);
        )+};
    }
    read!(samples, spans, counters, logs, clocks);
    moved.in_samples(&mut recording.samples);
    moved.in_spans(&mut recording.spans);
    add_cut(&mut recording, &cut);
    Ok(recording)
}

/// What stays in memory of each recording: dictionaries, facts and losses. With it what became of the stacks' ids, and
/// the tables that were cut.
pub(crate) fn open_dictionaries(folder: &Path) -> Result<(Recording, MovedStacks, Vec<&'static str>), FolderError> {
    if !is_recording(folder) {
        return Err(FolderError::NotARecording(folder.to_owned()));
    }
    let mut recording = Recording::default();
    let mut cut = Vec::new();
    let (mut threads, mut frames, mut stacks) =
        (StoredThreads::default(), StoredFrames::default(), StoredStacks::default());
    macro_rules! read {
        ($($table:expr),+) => {$(
            cut.extend(read_table(folder, &mut $table, &mut recording.strings)?);
        )+};
    }
    read!(threads, frames, stacks, recording.facts, recording.losses);
    check_version(folder, &recording)?;
    let mut moved = restore_dictionaries(&mut recording, &threads, &frames, &stacks);
    moved.some_are_lost = cut.contains(&StoredStacks::NAME);
    Ok((recording, moved, cut))
}

pub(crate) fn add_cut(recording: &mut Recording, cut: &[&str]) {
    for name in cut {
        let says = format!("table {name} was cut in the middle of a batch; everything before it was read");
        recording.add_loss("recording", loss::TRUNCATED, 0, &says);
    }
}

fn check_version(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let version = recording.fact(subject::RECORDING, "schema_version").and_then(|text| text.parse().ok());
    match version {
        Some(found) if found > SCHEMA_VERSION => Err(FolderError::TooNew { path: folder.to_owned(), found }),
        _ => Ok(()),
    }
}

/// Reads a table; gives its name when it was cut.
fn read_table<T: Table>(
    folder: &Path,
    table: &mut T,
    strings: &mut Strings,
) -> Result<Option<&'static str>, FolderError> {
    let path = stored_path(folder, T::NAME);
    each_batch(folder, T::NAME, |batch| append_batch(table, &batch, strings).map_err(|e| format_error(&path, &e)))
}

/// Gives the batches of a stored table to `take`, one by one; answers with the table's name when it was cut.
pub(crate) fn each_batch(
    folder: &Path,
    table: &'static str,
    mut take: impl FnMut(RecordBatch) -> Result<(), FolderError>,
) -> Result<Option<&'static str>, FolderError> {
    let path = stored_path(folder, table);
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(&path).map_err(|e| io_error(&path, e))?;
    if path == parquet_path(folder, table) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
            .map_err(|e| format_error(&path, &e))?;
        for batch in reader {
            take(batch.map_err(|e| format_error(&path, &e))?)?;
        }
        return Ok(None);
    }
    // A stream that ends before its schema is complete holds nothing yet.
    let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) else {
        return Ok(Some(table));
    };
    for batch in reader {
        let Ok(batch) = batch else { return Ok(Some(table)) };
        take(batch)?;
    }
    Ok(None)
}
