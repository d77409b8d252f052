//! Brings a recording into its final form without having its rows in memory, so that finishing one of an hour takes no more
//! than one of a minute.
//!
//! Rows go from the streams into Parquet batch by batch. What readers find in other files is added file by file. Only the
//! dictionaries, facts and losses stay. Until the end the streams are whole; a crash leaves them or what was made of them.

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
use crate::opened::{add_cut, each_batch, open_dictionaries};
use crate::whole::{TableWriter, write_dictionaries, write_parquet};

/// A recording that is being finished.
pub struct Finishing {
    folder: PathBuf,
    /// Dictionaries, facts and losses.
    kept: Recording,
    samples: TableWriter<Samples>,
    spans: TableWriter<Spans>,
    counters: TableWriter<Counters>,
    logs: TableWriter<Logs>,
    clocks: TableWriter<Clocks>,
}

impl Finishing {
    /// Takes over what was written to `folder`, also by a writer that was killed.
    pub fn begin(folder: &Path) -> Result<Finishing, FolderError> {
        let (kept, moved, mut cut) = open_dictionaries(folder)?;
        let mut finishing = Finishing {
            folder: folder.to_owned(),
            kept,
            samples: TableWriter::create(folder)?,
            spans: TableWriter::create(folder)?,
            counters: TableWriter::create(folder)?,
            logs: TableWriter::create(folder)?,
            clocks: TableWriter::create(folder)?,
        };
        cut.extend(copy(folder, &mut finishing.samples, &moved, MovedStacks::in_samples)?);
        cut.extend(copy(folder, &mut finishing.spans, &moved, MovedStacks::in_spans)?);
        cut.extend(copy(folder, &mut finishing.counters, &moved, |_, _| ())?);
        cut.extend(copy(folder, &mut finishing.logs, &moved, |_, _| ())?);
        cut.extend(copy(folder, &mut finishing.clocks, &moved, |_, _| ())?);
        add_cut(&mut finishing.kept, &cut);
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
        let Finishing { folder, mut kept, samples, spans, counters, logs, clocks } = self;
        let rows = RowCounts {
            facts: kept.facts.len(),
            samples: samples.rows,
            spans: spans.rows,
            counters: counters.rows,
            logs: logs.rows,
        };
        kept.add_fact(subject::RECORDING, "schema_version", &SCHEMA_VERSION.to_string(), "fathom");
        // Dictionaries first: ids of rows must not be unknown when this is interrupted.
        write_dictionaries(&folder, &kept)?;
        samples.close()?;
        spans.close()?;
        counters.close()?;
        logs.close()?;
        clocks.close()?;
        write_parquet(&folder, &kept.losses, &kept.strings)?;
        write_parquet(&folder, &kept.facts, &kept.strings)?;
        remove_streams(&folder)?;
        Ok(Finished { rows, kept })
    }
}

/// Copies a table's stored batches; answers with its name when it was cut.
fn copy<T: Table>(
    folder: &Path,
    writer: &mut TableWriter<T>,
    moved: &MovedStacks,
    renumber: impl Fn(&MovedStacks, &mut T),
) -> Result<Option<&'static str>, FolderError> {
    let schema = schema::<T>();
    each_batch(folder, T::NAME, |batch| {
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
    Ok(())
}
