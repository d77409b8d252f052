//! Reads a folder, finished or not, complete or not. What is missing in it becomes losses.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use fathom_evidence::kinds::{loss, subject};
use fathom_evidence::schema::SCHEMA_VERSION;
use fathom_evidence::tables::{StoredFrames, StoredStacks, StoredThreads};
use fathom_evidence::{Recording, Strings, Table};

use crate::batch::{append_batch, foreign};
use crate::dictionaries::{MovedStacks, restore_dictionaries};
use crate::error::{FolderError, format_error, io_error};
use crate::files::open_file;
use crate::journal::{self, Chunk, Locked, State};
use crate::manifest::Manifest;
use crate::pages::each_sound;
use crate::stream::{Broken, CHUNK_MAX_BYTES, Decoder};
use crate::{cut_off, is_recording, parquet_path, stream_path};

/// Reads a finished or unfinished recording.
pub fn open(folder: &Path) -> Result<Recording, FolderError> {
    let mut stored = Stored::of(folder)?;
    let (mut recording, moved) = stored.dictionaries()?;
    macro_rules! read {
        ($($table:ident),+) => {$(
            stored.read(&mut recording.$table, &mut recording.strings)?;
        )+};
    }
    read!(samples, spans, counters, logs, clocks);
    moved.in_samples(&mut recording.samples);
    moved.in_spans(&mut recording.spans);
    stored.tell_losses(false, &mut recording);
    recording.set_aside_foreign_times();
    Ok(recording)
}

/// A folder that is being read.
pub(crate) struct Stored {
    folder: PathBuf,
    state: State,
    manifest: Option<Manifest>,
    /// Whether streams are what counts: Parquet files beside them were being made of them.
    has_journal: bool,
    losses: Vec<Lost>,
}

/// Something of a table is not there.
struct Lost {
    table: &'static str,
    kind: &'static str,
    rows: i64,
    says: String,
}

impl Stored {
    pub(crate) fn of(folder: &Path) -> Result<Stored, FolderError> {
        if !is_recording(folder) {
            return Err(FolderError::NotARecording(folder.to_owned()));
        }
        let state = journal::state(folder);
        let manifest = Manifest::read(folder);
        let has_journal = manifest.is_none() && journal::path(folder).is_file();
        Ok(Stored { folder: folder.to_owned(), state, manifest, has_journal, losses: Vec::new() })
    }

    /// For the process that finishes it, and is its writer from now on.
    pub(crate) fn taken_over(folder: &Path) -> Result<(Locked, Stored), FolderError> {
        if !is_recording(folder) {
            return Err(FolderError::NotARecording(folder.to_owned()));
        }
        let journal = Locked::take_over(folder)?;
        let mut stored = Stored::of(folder)?;
        if stored.state == State::Running {
            // The lock is one's own.
            stored.state = State::CutOff;
        }
        Ok((journal, stored))
    }

    /// What stays in memory of each recording: dictionaries, facts and losses. With it what became of the stacks' ids.
    pub(crate) fn dictionaries(&mut self) -> Result<(Recording, MovedStacks), FolderError> {
        let mut recording = Recording::default();
        let strings = &mut recording.strings;
        let (mut threads, mut frames, mut stacks) =
            (StoredThreads::default(), StoredFrames::default(), StoredStacks::default());
        self.read(&mut threads, strings)?;
        self.read(&mut frames, strings)?;
        self.read(&mut stacks, strings)?;
        self.read(&mut recording.facts, strings)?;
        self.read(&mut recording.losses, strings)?;
        check_version(&self.folder, &recording)?;
        let mut moved = restore_dictionaries(&mut recording, &threads, &frames, &stacks);
        moved.some_are_lost = self.losses.iter().any(|lost| lost.table == StoredStacks::NAME);
        Ok((recording, moved))
    }

    /// Reads a table.
    fn read<T: Table>(&mut self, table: &mut T, strings: &mut Strings) -> Result<(), FolderError> {
        let path = parquet_path(&self.folder, T::NAME);
        self.each_batch::<T>(|batch| append_batch(table, &batch, strings).map_err(|e| format_error(&path, &e)))
    }

    /// Gives the batches of a stored table to `take`, one by one.
    pub(crate) fn each_batch<T: Table>(
        &mut self,
        mut take: impl FnMut(RecordBatch) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        let stream = stream_path(&self.folder, T::NAME);
        let finished = parquet_path(&self.folder, T::NAME);
        if self.has_journal || (!finished.is_file() && stream.is_file()) {
            return self.each_of_stream::<T>(&stream, &mut take);
        }
        if finished.is_file() {
            return self.each_of_parquet::<T>(&finished, &mut take);
        }
        // In a recording of before all streams were made at once a table without rows has none.
        if self.state == State::Finished {
            let rows =
                self.manifest.as_ref().and_then(|manifest| manifest.entry(T::NAME)).map_or(0, |entry| entry.rows);
            let says = match rows {
                0 => format!("table {} is missing", T::NAME),
                rows => format!("table {} is missing, with its {rows} rows", T::NAME),
            };
            self.lose::<T>(loss::MISSING, rows, says);
        }
        Ok(())
    }

    fn each_of_parquet<T: Table>(
        &mut self,
        path: &Path,
        take: &mut impl FnMut(RecordBatch) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        let entry = self.manifest.as_ref().map(|manifest| manifest.entry(T::NAME));
        let is_own = entry.is_none_or(|entry| entry.is_some_and(|entry| entry.is_of(path)));
        let written = entry.flatten().map_or(0, |entry| entry.rows);
        let name = T::NAME;
        if !is_own && entry.flatten().is_some_and(|entry| entry.is_as_long_as(path)) {
            // A program that rewrites a table changes its length: in this one bytes were changed, and none can be trusted.
            let says = format!("table {name} is damaged; none of its {written} rows was read");
            self.lose::<T>(loss::MISSING, written, says);
            return Ok(());
        }
        let mut rows = 0;
        let broken = each_sound::<T>(open_file(path).map_err(|e| io_error(path, e))?, &mut |batch| {
            rows += batch.num_rows() as u64;
            take(batch)
        })?;
        let says = match broken {
            Some(why) => format!("table {name} is damaged ({why}); {rows} rows{} could be read", of_rows(written)),
            None if is_own => return Ok(()),
            None if rows == written => {
                format!("table {name} is not the one that was written, though it has as many rows")
            }
            None => format!("table {name} is not the one that was written: it has {rows} rows{}", of_rows(written)),
        };
        self.lose::<T>(loss::MISSING, written.saturating_sub(rows), says);
        Ok(())
    }

    fn each_of_stream<T: Table>(
        &mut self,
        path: &Path,
        take: &mut impl FnMut(RecordBatch) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        let chunks = journal::chunks(&self.folder, T::NAME);
        let noted = chunks.iter().flatten().count();
        let Ok(file) = open_file(path) else {
            if noted > 0 {
                self.lose::<T>(loss::MISSING, 0, format!("table {} is missing", T::NAME));
            }
            return Ok(());
        };
        let broken = match &chunks {
            Some(chunks) => each_noted::<T>(file, chunks, take)?,
            None => each_believed::<T>(&mut Decoder::default(), &mut BufReader::new(file), take)?,
        };
        if let Some(broken) = broken {
            let (kind, says) = match broken {
                Broken::Cut => (loss::TRUNCATED, "was cut in the middle of a batch"),
                Broken::Damaged => (loss::MISSING, "is damaged"),
            };
            self.lose::<T>(kind, 0, format!("table {} {says}; everything before it was read", T::NAME));
        }
        Ok(())
    }

    fn lose<T: Table>(&mut self, kind: &'static str, rows: u64, says: String) {
        self.losses.push(Lost { table: T::NAME, kind, rows: i64::try_from(rows).unwrap_or(0), says });
    }

    /// Adds what is not there as losses.
    pub(crate) fn tell_losses(self, is_being_finished: bool, recording: &mut Recording) {
        cut_off::tell(&self.folder, self.state, is_being_finished, recording);
        if let (State::Finished, Some(says)) = (self.state, Manifest::why_unknown(self.manifest.as_ref())) {
            recording.add_loss("recording", loss::MISSING, 0, says);
        }
        for Lost { kind, rows, says, .. } in self.losses {
            recording.add_loss("recording", kind, rows, &says);
        }
    }
}

fn of_rows(rows: u64) -> String {
    if rows == 0 { String::new() } else { format!(" of {rows}") }
}

/// Gives the batches of a stream as far as they are what the writer noted. What is behind that was being written.
fn each_noted<T: Table>(
    mut file: File,
    chunks: &[Chunk],
    take: &mut impl FnMut(RecordBatch) -> Result<(), FolderError>,
) -> Result<Option<Broken>, FolderError> {
    let mut decoder = Decoder::default();
    for chunk in chunks {
        if chunk.length > CHUNK_MAX_BYTES {
            return Ok(Some(Broken::Damaged));
        }
        let mut bytes = Vec::new();
        let is_read = (&mut file).take(chunk.length).read_to_end(&mut bytes).is_ok();
        if !is_read || !chunk.is(&bytes) {
            return Ok(Some(if (bytes.len() as u64) < chunk.length { Broken::Cut } else { Broken::Damaged }));
        }
        if let Some(broken) = each_believed::<T>(&mut decoder, &mut bytes.as_slice(), take)? {
            return Ok(Some(broken));
        }
    }
    let is_all = file.read(&mut [0]).is_ok_and(|more| more == 0);
    Ok((!is_all).then_some(Broken::Cut))
}

/// Gives the batches as far as they make sense.
fn each_believed<T: Table>(
    decoder: &mut Decoder,
    bytes: &mut impl Read,
    take: &mut impl FnMut(RecordBatch) -> Result<(), FolderError>,
) -> Result<Option<Broken>, FolderError> {
    loop {
        match decoder.next(bytes) {
            Ok(None) => return Ok(None),
            Ok(Some(batch)) if foreign::<T>(batch.schema_ref()).is_none() => take(batch)?,
            Ok(Some(_)) => return Ok(Some(Broken::Damaged)),
            Err(broken) => return Ok(Some(broken)),
        }
    }
}

fn check_version(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    let version = recording.fact(subject::RECORDING, "schema_version").and_then(|text| text.parse().ok());
    match version {
        Some(found) if found > SCHEMA_VERSION => Err(FolderError::TooNew { path: folder.to_owned(), found }),
        _ => Ok(()),
    }
}
