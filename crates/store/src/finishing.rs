//! Brings a recording into its final form without having its rows in memory, so that finishing one of an hour takes no more
//! than one of a minute.
//!
//! Rows go from the streams into Parquet batch by batch. What readers find in other files is added file by file. Only the
//! dictionaries, facts and losses stay. The streams stay complete until the end; a crash leaves them or what was made of them.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

use fathom_evidence::kinds::subject;
use fathom_evidence::schema::SCHEMA_VERSION;
use fathom_evidence::tables::{Clocks, Counters, Logs, Samples, Spans};
use fathom_evidence::{Finished, Recording, RowCounts, Strings, Table};

use crate::batch::{append_batch, schema};
use crate::dictionaries::MovedStacks;
use crate::error::{FolderError, format_error, io_error};
use crate::journal::{self, Locked};
use crate::manifest::Manifest;
use crate::opened::Stored;
use crate::whole::{TableWriter, write_dictionaries, write_parquet};

/// A recording that is being finished.
pub struct Finishing {
    folder: PathBuf,
    stored: Stored,
    /// Dictionaries, facts and losses.
    kept: Recording,
    samples: TableWriter<Samples>,
    spans: TableWriter<Spans>,
    counters: TableWriter<Counters>,
    logs: TableWriter<Logs>,
    clocks: TableWriter<Clocks>,
    /// Held until the end: to others the recording is not cut off.
    _journal: Locked,
}

impl Finishing {
    /// Takes over what was written to `folder`, also by a writer that was killed. Returns an error, and touches
    /// nothing, while another process has the folder.
    pub fn begin(folder: &Path) -> Result<Finishing, FolderError> {
        let (journal, mut stored) = Stored::taken_over(folder)?;
        let (kept, moved) = stored.dictionaries()?;
        let mut finishing = Finishing {
            folder: folder.to_owned(),
            kept,
            samples: TableWriter::create(folder)?,
            spans: TableWriter::create(folder)?,
            counters: TableWriter::create(folder)?,
            logs: TableWriter::create(folder)?,
            clocks: TableWriter::create(folder)?,
            stored,
            _journal: journal,
        };
        let stored = &mut finishing.stored;
        copy(stored, &mut finishing.samples, &moved, MovedStacks::in_samples)?;
        copy(stored, &mut finishing.spans, &moved, MovedStacks::in_spans)?;
        copy(stored, &mut finishing.counters, &moved, |_, _| ())?;
        copy(stored, &mut finishing.logs, &moved, |_, _| ())?;
        copy(stored, &mut finishing.clocks, &moved, |_, _| ())?;
        Ok(finishing)
    }

    /// Puts the rows of `read` behind those that are there.
    pub fn add(&mut self, mut read: Recording) -> Result<(), FolderError> {
        self.kept.absorb_but_large_tables(&mut read);
        self.samples.append(&read.samples, &read.strings)?;
        self.spans.append(&read.spans, &read.strings)?;
        self.counters.append(&read.counters, &read.strings)?;
        self.logs.append(&read.logs, &read.strings)?;
        self.clocks.append(&read.clocks, &read.strings)
    }

    /// The value of a fact.
    pub fn fact(&self, subject: &str, key: &str) -> Option<&str> {
        self.kept.fact(subject, key)
    }

    /// Adds a fact.
    pub fn add_fact(&mut self, subject: &str, key: &str, value: &str, source: &str) {
        self.kept.add_fact(subject, key, value, source);
    }

    /// Adds a loss that concerns a whole source.
    pub fn add_loss(&mut self, source: &str, kind: &str, count: i64, says: &str) {
        self.kept.add_loss(source, kind, count, says);
    }

    /// Gives the tables their names and removes the streams.
    pub fn end(self) -> Result<Finished, FolderError> {
        let Finishing { folder, stored, mut kept, samples, spans, counters, logs, clocks, _journal } = self;
        // Only now: what was left outside may have been fetched since the beginning.
        stored.tell_losses(true, &mut kept);
        let rows = RowCounts {
            facts: kept.facts.len(),
            samples: samples.rows,
            spans: spans.rows,
            counters: counters.rows,
            logs: logs.rows,
        };
        kept.add_fact(subject::RECORDING, "schema_version", &SCHEMA_VERSION.to_string(), "fathom");
        let mut manifest = Manifest::default();
        write_dictionaries(&folder, &kept, &mut manifest)?;
        manifest.push(samples.close()?);
        manifest.push(spans.close()?);
        manifest.push(counters.close()?);
        manifest.push(logs.close()?);
        manifest.push(clocks.close()?);
        manifest.push(write_parquet(&folder, &kept.losses, &kept.strings)?);
        manifest.push(write_parquet(&folder, &kept.facts, &kept.strings)?);
        // From here on the tables count, and until here the streams.
        manifest.write(&folder)?;
        remove_streams(&folder)?;
        Ok(Finished { rows, kept })
    }
}

/// Copies a table's stored batches.
fn copy<T: Table>(
    stored: &mut Stored,
    writer: &mut TableWriter<T>,
    moved: &MovedStacks,
    renumber: impl Fn(&MovedStacks, &mut T),
) -> Result<(), FolderError> {
    let schema = schema::<T>();
    stored.each_batch::<T>(|batch| {
        // What this program wrote needs no change.
        if moved.none() && *batch.schema() == schema {
            return writer.write(&batch);
        }
        let (mut table, strings) = read(&batch).map_err(|error| format_error(&writer.path, &error))?;
        renumber(moved, &mut table);
        writer.append(&table, &strings)
    })
}

fn read<T: Table>(batch: &RecordBatch) -> Result<(T, Strings), arrow_schema::ArrowError> {
    let (mut table, mut strings) = (T::default(), Strings::default());
    append_batch(&mut table, batch, &mut strings)?;
    Ok((table, strings))
}

fn remove_streams(folder: &Path) -> Result<(), FolderError> {
    for entry in fs::read_dir(folder).map_err(|e| io_error(folder, e))? {
        let path = entry.map_err(|e| io_error(folder, e))?.path();
        if path.extension().is_some_and(|e| e == "arrows") {
            fs::remove_file(&path).map_err(|e| io_error(&path, e))?;
        }
    }
    // Recordings of before there was a journal have none.
    let _ = fs::remove_file(journal::path(folder));
    Ok(())
}
