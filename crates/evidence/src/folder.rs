//! A recording on disk: a folder `NAME.fathom/` of one file per table.
//!
//! While a recording is being written each table is an Arrow IPC stream that grows by whole
//! batches, so that a killed writer loses at most what it had not yet flushed. Finishing turns the
//! streams into Parquet. Opening takes the Parquet file of a table or else its stream, up to the
//! last whole batch.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::dictionaries::{Frame, FrameId, Stack, StackId, Thread};
use crate::kinds::{loss, subject};
use crate::recording::Recording;
use crate::schema::SCHEMA_VERSION;
use crate::table::Table;
use crate::tables::{StoredFrame, StoredFrames, StoredStack, StoredStacks, StoredThread, StoredThreads};

/// Ending of a recording's folder.
pub const EXTENSION: &str = "fathom";

/// Rows per batch; bounds what a reader has to hold at once.
const BATCH_ROWS: usize = 1 << 16;

/// Why a folder could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was accessed.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is there but is not what it should be.
    #[error("{}: not a table of a recording: {says}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        says: String,
    },
    /// No table at all.
    #[error("{}: no table of a recording in this folder", .0.display())]
    NotARecording(PathBuf),
    /// Written by a newer Fathom.
    #[error("{}: schema version {found}, this program reads up to {SCHEMA_VERSION}: use a newer fathom", path.display())]
    TooNew {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

/// Writes a recording that grows.
pub struct FolderWriter {
    folder: PathBuf,
    streams: Vec<Stream>,
    written: Written,
}

/// How much of each dictionary is on disk already.
#[derive(Debug, Default)]
struct Written {
    threads: usize,
    frames: usize,
    stacks: usize,
}

struct Stream {
    name: &'static str,
    writer: StreamWriter<File>,
}

impl FolderWriter {
    /// Makes the folder, readable by its owner only. Refuses a folder that exists.
    pub fn create(folder: &Path) -> Result<Self, FolderError> {
        DirBuilder::new().mode(0o700).create(folder).map_err(|e| io_error(folder, e))?;
        Ok(FolderWriter { folder: folder.to_owned(), streams: Vec::new(), written: Written::default() })
    }

    /// Writes all rows and what the dictionaries have gained, then drops the rows (ids stay valid).
    pub fn flush(&mut self, recording: &mut Recording) -> Result<(), FolderError> {
        self.flush_dictionaries(recording)?;
        let strings = &recording.strings;
        macro_rules! flush {
            ($($table:ident),+) => {$(
                self.append(&recording.$table, strings)?;
                recording.$table.clear();
            )+};
        }
        flush!(facts, samples, spans, counters, logs, losses, clocks);
        Ok(())
    }

    fn flush_dictionaries(&mut self, recording: &Recording) -> Result<(), FolderError> {
        let (threads, frames, stacks) = dictionary_tables(recording, &self.written);
        self.append(&threads, &recording.strings)?;
        self.append(&frames, &recording.strings)?;
        self.append(&stacks, &recording.strings)?;
        self.written = Written {
            threads: recording.threads.len(),
            frames: recording.stacks.frame_count(),
            stacks: recording.stacks.stack_count(),
        };
        Ok(())
    }

    fn append<T: Table>(&mut self, table: &T, strings: &crate::Strings) -> Result<(), FolderError> {
        let path = stream_path(&self.folder, T::NAME);
        for batch in batches(table, strings) {
            let batch = batch.map_err(|e| format_error(&path, &e))?;
            let writer = self.stream(T::NAME, &path, &batch)?;
            writer.write(&batch).and_then(|()| writer.flush()).map_err(|e| format_error(&path, &e))?;
        }
        Ok(())
    }

    fn stream(
        &mut self,
        name: &'static str,
        path: &Path,
        batch: &RecordBatch,
    ) -> Result<&mut StreamWriter<File>, FolderError> {
        let index = match self.streams.iter().position(|stream| stream.name == name) {
            Some(index) => index,
            None => {
                let file = create_file(path)?;
                let writer = StreamWriter::try_new(file, &batch.schema()).map_err(|e| format_error(path, &e))?;
                self.streams.push(Stream { name, writer });
                self.streams.len() - 1
            }
        };
        Ok(&mut self.streams[index].writer)
    }

    /// Turns the streams into Parquet and removes them.
    pub fn finish(self) -> Result<(), FolderError> {
        let folder = self.folder.clone();
        drop(self);
        finish_folder(&folder)
    }
}

/// Writes a whole recording at once.
pub fn write(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    DirBuilder::new().mode(0o700).create(folder).map_err(|e| io_error(folder, e))?;
    write_tables(folder, recording)
}

/// Finishes a folder whose writer was killed: Parquet instead of streams.
pub fn finish_folder(folder: &Path) -> Result<(), FolderError> {
    finish_with(folder, &open(folder)?)
}

/// Finishes a folder with what was opened from it and added since.
pub fn finish_with(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    write_tables(folder, recording)?;
    for entry in fs::read_dir(folder).map_err(|e| io_error(folder, e))? {
        let path = entry.map_err(|e| io_error(folder, e))?.path();
        if path.extension().is_some_and(|e| e == "arrows") {
            fs::remove_file(&path).map_err(|e| io_error(&path, e))?;
        }
    }
    Ok(())
}

/// Whether `path` is a folder that holds tables.
pub fn is_recording(path: &Path) -> bool {
    let has = |name: &str| parquet_path(path, name).is_file() || stream_path(path, name).is_file();
    path.is_dir() && ["facts", "samples", "spans", "counters", "logs", "losses"].iter().any(|name| has(name))
}

/// Reads a finished or unfinished recording.
pub fn open(folder: &Path) -> Result<Recording, FolderError> {
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
    read!(threads, frames, stacks);
    read!(recording.facts, recording.samples, recording.spans, recording.counters);
    read!(recording.logs, recording.losses, recording.clocks);
    check_version(folder, &recording)?;
    restore_dictionaries(&mut recording, &threads, &frames, &stacks);
    for name in cut {
        let says = format!("table {name} was cut in the middle of a batch; everything before it was read");
        recording.add_loss("recording", loss::TRUNCATED, 0, &says);
    }
    Ok(recording)
}

fn check_version(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let version = recording.fact(subject::RECORDING, "schema_version").and_then(|text| text.parse().ok());
    match version {
        Some(found) if found > SCHEMA_VERSION => Err(FolderError::TooNew { path: folder.to_owned(), found }),
        _ => Ok(()),
    }
}

fn write_tables(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let strings = &recording.strings;
    let (threads, frames, stacks) = dictionary_tables(recording, &Written::default());
    write_parquet(folder, &threads, strings)?;
    write_parquet(folder, &frames, strings)?;
    write_parquet(folder, &stacks, strings)?;
    let mut stamped = Recording { strings: strings.clone(), facts: recording.facts.clone(), ..Recording::default() };
    stamped.add_fact(subject::RECORDING, "schema_version", &SCHEMA_VERSION.to_string(), "fathom");
    write_parquet(folder, &stamped.facts, &stamped.strings)?;
    write_parquet(folder, &recording.samples, strings)?;
    write_parquet(folder, &recording.spans, strings)?;
    write_parquet(folder, &recording.counters, strings)?;
    write_parquet(folder, &recording.logs, strings)?;
    write_parquet(folder, &recording.losses, strings)?;
    write_parquet(folder, &recording.clocks, strings)
}

/// Writes beside the old file and renames, so that a crash leaves one or the other whole.
fn write_parquet<T: Table>(folder: &Path, table: &T, strings: &crate::Strings) -> Result<(), FolderError> {
    let path = parquet_path(folder, T::NAME);
    let unfinished = path.with_extension("unfinished");
    let _ = fs::remove_file(&unfinished);
    let file = create_file(&unfinished)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let parquet_error = |e: ParquetError| format_error(&path, &e);
    let schema = std::sync::Arc::new(T::arrow_schema());
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(parquet_error)?;
    for batch in batches(table, strings) {
        writer.write(&batch.map_err(|e| format_error(&path, &e))?).map_err(parquet_error)?;
    }
    writer.close().map_err(parquet_error)?;
    fs::rename(&unfinished, &path).map_err(|e| io_error(&path, e))
}

fn batches<'a, T: Table>(
    table: &'a T,
    strings: &'a crate::Strings,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'a {
    (0..table.len())
        .step_by(BATCH_ROWS)
        .map(move |start| table.to_batch(start..table.len().min(start + BATCH_ROWS), strings))
}

/// Reads a table; gives its name when it was cut.
fn read_table<T: Table>(
    folder: &Path,
    table: &mut T,
    strings: &mut crate::Strings,
) -> Result<Option<&'static str>, FolderError> {
    let path = parquet_path(folder, T::NAME);
    if path.is_file() {
        return read_parquet(&path, table, strings).map(|()| None);
    }
    let path = stream_path(folder, T::NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(&path).map_err(|e| io_error(&path, e))?;
    // A stream that ends before its schema is complete holds nothing yet.
    let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) else {
        return Ok(Some(T::NAME));
    };
    for batch in reader {
        let Ok(batch) = batch else { return Ok(Some(T::NAME)) };
        table.append_batch(&batch, strings).map_err(|e| format_error(&path, &e))?;
    }
    Ok(None)
}

fn read_parquet<T: Table>(path: &Path, table: &mut T, strings: &mut crate::Strings) -> Result<(), FolderError> {
    let file = File::open(path).map_err(|e| io_error(path, e))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
        .map_err(|e| format_error(path, &e))?;
    for batch in reader {
        let batch = batch.map_err(|e| format_error(path, &e))?;
        table.append_batch(&batch, strings).map_err(|e| format_error(path, &e))?;
    }
    Ok(())
}

fn dictionary_tables(recording: &Recording, written: &Written) -> (StoredThreads, StoredFrames, StoredStacks) {
    let mut threads = StoredThreads::default();
    for (tid, Thread { name, role }) in recording.threads.iter().skip(written.threads) {
        threads.push(StoredThread { tid, name, role });
    }
    let mut frames = StoredFrames::default();
    for id in written.frames.max(1)..recording.stacks.frame_count() {
        let Frame { symbol, module, kind, line } = recording.stacks.frame(FrameId(id as u32));
        frames.push(StoredFrame { frame_id: id as u32, symbol, module, kind, line });
    }
    let mut stacks = StoredStacks::default();
    for id in written.stacks.max(1)..recording.stacks.stack_count() {
        let Stack { parent, frame } = recording.stacks.stack(StackId(id as u32));
        stacks.push(StoredStack { stack_id: id as u32, parent_id: parent.0, frame_id: frame.0 });
    }
    (threads, frames, stacks)
}

/// Interns what was stored and renumbers the ids in the rows accordingly: a damaged or foreign
/// dictionary may have gaps and repetitions.
fn restore_dictionaries(
    recording: &mut Recording,
    threads: &StoredThreads,
    frames: &StoredFrames,
    stacks: &StoredStacks,
) {
    for StoredThread { tid, name, role } in threads.rows() {
        recording.threads.insert(tid, Thread { name, role });
    }
    let mut frame_of = std::collections::HashMap::new();
    for StoredFrame { frame_id, symbol, module, kind, line } in frames.rows() {
        frame_of.insert(frame_id, recording.stacks.intern_frame(Frame { symbol, module, kind, line }));
    }
    let mut stack_of = std::collections::HashMap::new();
    for StoredStack { stack_id, parent_id, frame_id } in stacks.rows() {
        let parent = stack_of.get(&StackId(parent_id)).copied().unwrap_or_default();
        let frame = frame_of.get(&frame_id).copied().unwrap_or_default();
        stack_of.insert(StackId(stack_id), recording.stacks.intern(parent, frame));
    }
    let translate = |id: &mut StackId| *id = stack_of.get(id).copied().unwrap_or_default();
    recording.samples.stack_id.iter_mut().for_each(translate);
    recording.spans.stack_id.iter_mut().for_each(translate);
    recording.spans.kernel_stack_id.iter_mut().for_each(translate);
}

fn create_file(path: &Path) -> Result<File, FolderError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|e| io_error(path, e))
}

fn parquet_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

fn stream_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.arrows"))
}

fn io_error(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), source }
}

fn format_error(path: &Path, says: &dyn std::fmt::Display) -> FolderError {
    FolderError::Format { path: path.to_owned(), says: says.to_string() }
}
