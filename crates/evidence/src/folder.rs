//! A recording on disk: a folder `NAME.fathom/` of one file per table.
//!
//! While a recording is being written each table is an Arrow IPC stream that grows by whole
//! batches, so that a killed writer loses at most what it had not yet flushed. [`Finishing`] turns the
//! streams into Parquet. Opening takes the Parquet file of a table or else its stream, up to the
//! last whole batch.

mod finishing;

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader};
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::dictionaries::{Frame, FrameId, Stack, StackId, Thread};
use crate::kinds::{loss, subject};
use crate::recording::Recording;
use crate::schema::SCHEMA_VERSION;
use crate::table::Table;
use crate::tables::{
    Samples, Spans, StoredFrame, StoredFrames, StoredStack, StoredStacks, StoredThread, StoredThreads,
};

pub use finishing::{Finished, Finishing};

/// Ending of a recording's folder.
pub const EXTENSION: &str = "fathom";

/// Rows per batch; bounds what a reader has to hold at once.
const BATCH_ROWS: usize = 1 << 16;

/// Rows that Parquet compresses together; bounds what a writer has to hold at once.
const GROUP_ROWS: usize = 1 << 18;

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
}

/// Writes a whole recording at once.
pub fn write(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    DirBuilder::new().mode(0o700).create(folder).map_err(|e| io_error(folder, e))?;
    write_tables(folder, recording)
}

/// Whether `path` is a folder that holds tables.
pub fn is_recording(path: &Path) -> bool {
    let has = |name: &str| parquet_path(path, name).is_file() || stream_path(path, name).is_file();
    path.is_dir() && ["facts", "samples", "spans", "counters", "logs", "losses"].iter().any(|name| has(name))
}

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
fn open_dictionaries(folder: &Path) -> Result<(Recording, MovedStacks, Vec<&'static str>), FolderError> {
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

fn add_cut(recording: &mut Recording, cut: &[&str]) {
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

fn write_tables(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let strings = &recording.strings;
    write_dictionaries(folder, recording)?;
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

fn write_dictionaries(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let (threads, frames, stacks) = dictionary_tables(recording, &Written::default());
    write_parquet(folder, &threads, &recording.strings)?;
    write_parquet(folder, &frames, &recording.strings)?;
    write_parquet(folder, &stacks, &recording.strings)
}

fn write_parquet<T: Table>(folder: &Path, table: &T, strings: &crate::Strings) -> Result<(), FolderError> {
    let mut writer = TableWriter::<T>::create(folder)?;
    writer.append(table, strings)?;
    writer.close()
}

/// The Parquet file of a table, which has its name when it is whole: a crash leaves the old file or the new one.
struct TableWriter<T> {
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: usize,
    table: PhantomData<T>,
}

impl<T: Table> TableWriter<T> {
    fn create(folder: &Path) -> Result<TableWriter<T>, FolderError> {
        let path = parquet_path(folder, T::NAME);
        let unfinished = path.with_extension("unfinished");
        let _ = fs::remove_file(&unfinished);
        let file = create_file(&unfinished)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(file, Arc::new(T::arrow_schema()), Some(properties));
        let writer = writer.map_err(|e| format_error(&path, &e))?;
        Ok(TableWriter { path, writer, rows: 0, table: PhantomData })
    }

    fn append(&mut self, table: &T, strings: &crate::Strings) -> Result<(), FolderError> {
        for batch in batches(table, strings) {
            self.write(&batch.map_err(|e| format_error(&self.path, &e))?)?;
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), FolderError> {
        self.rows += batch.num_rows();
        self.writer.write(batch).map_err(|e| format_error(&self.path, &e))
    }

    fn close(self) -> Result<(), FolderError> {
        self.writer.close().map_err(|e| format_error(&self.path, &e))?;
        fs::rename(self.path.with_extension("unfinished"), &self.path).map_err(|e| io_error(&self.path, e))
    }
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
    let path = stored_path(folder, T::NAME);
    each_batch(folder, T::NAME, |batch| table.append_batch(&batch, strings).map_err(|e| format_error(&path, &e)))
}

/// Gives the batches of a stored table to `take`, one by one; answers with the table's name when it was cut.
fn each_batch(
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

/// Interns what was stored. Stacks may have other ids then: a damaged or foreign dictionary may have gaps and repetitions.
fn restore_dictionaries(
    recording: &mut Recording,
    threads: &StoredThreads,
    frames: &StoredFrames,
    stacks: &StoredStacks,
) -> MovedStacks {
    for StoredThread { tid, name, role } in threads.rows() {
        recording.threads.insert(tid, Thread { name, role });
    }
    let mut frame_of = HashMap::new();
    for StoredFrame { frame_id, symbol, module, kind, line } in frames.rows() {
        frame_of.insert(frame_id, recording.stacks.intern_frame(Frame { symbol, module, kind, line }));
    }
    let mut moved =
        MovedStacks { known: recording.stacks.stack_count(), elsewhere: HashMap::new(), some_are_lost: false };
    for StoredStack { stack_id, parent_id, frame_id } in stacks.rows() {
        let parent = moved.now(StackId(parent_id));
        let frame = frame_of.get(&frame_id).copied().unwrap_or_default();
        moved.note(StackId(stack_id), recording.stacks.intern(parent, frame));
    }
    moved
}

/// The ids that stored stacks have now. Those of our own writers stay.
struct MovedStacks {
    /// Ids below this one are the same, unless they are elsewhere.
    known: usize,
    elsewhere: HashMap<StackId, StackId>,
    /// Rows may name stacks that are nowhere.
    some_are_lost: bool,
}

impl MovedStacks {
    fn note(&mut self, stored: StackId, now: StackId) {
        if stored == now && now.0 as usize == self.known {
            self.known += 1;
        } else {
            self.elsewhere.insert(stored, now);
        }
    }

    fn now(&self, stored: StackId) -> StackId {
        let same = if (stored.0 as usize) < self.known { stored } else { StackId(0) };
        if self.elsewhere.is_empty() { same } else { self.elsewhere.get(&stored).copied().unwrap_or(same) }
    }

    /// Whether no id of a row changes.
    fn none(&self) -> bool {
        self.elsewhere.is_empty() && !self.some_are_lost
    }

    fn in_samples(&self, samples: &mut Samples) {
        self.renumber(&mut samples.stack_id);
    }

    fn in_spans(&self, spans: &mut Spans) {
        self.renumber(&mut spans.stack_id);
        self.renumber(&mut spans.kernel_stack_id);
    }

    fn renumber(&self, ids: &mut [StackId]) {
        ids.iter_mut().for_each(|id| *id = self.now(*id));
    }
}

fn create_file(path: &Path) -> Result<File, FolderError> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|e| io_error(path, e))
}

fn parquet_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

/// The Parquet file of a table or else its stream.
fn stored_path(folder: &Path, table: &str) -> PathBuf {
    let finished = parquet_path(folder, table);
    if finished.is_file() { finished } else { stream_path(folder, table) }
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
