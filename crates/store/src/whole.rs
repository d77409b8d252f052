//! Writing tables as Parquet, each at once or batch by batch.

use std::fs::{self, File};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use fathom_evidence::kinds::subject;
use fathom_evidence::schema::SCHEMA_VERSION;
use fathom_evidence::{Recording, Strings, Table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::batch::{batches, is_of_texts, schema};
use crate::dictionaries::{Written, stack_tables, thread_table};
use crate::error::{FolderError, format_error, io_error};
use crate::files::create_file;
use crate::growing::make_or_take;
use crate::manifest::{Entry, Hashed, Manifest};
use crate::parquet_path;

/// Rows that Parquet compresses together; bounds what a writer has to hold at once.
const GROUP_ROWS: usize = 1 << 18;

/// Writes a whole recording at once, into a new folder or one in which nothing is.
pub fn write(folder: &Path, recording: &Recording) -> Result<(), FolderError> {
    make_or_take(folder).map_err(|e| io_error(folder, e))?;
    let strings = &recording.strings;
    let mut manifest = Manifest::default();
    write_dictionaries(folder, recording, &mut manifest)?;
    let mut stamped = Recording { strings: strings.clone(), facts: recording.facts.clone(), ..Recording::default() };
    stamped.add_fact(subject::RECORDING, "schema_version", &SCHEMA_VERSION.to_string(), "fathom");
    manifest.push(write_parquet(folder, &stamped.facts, &stamped.strings)?);
    manifest.push(write_parquet(folder, &recording.samples, strings)?);
    manifest.push(write_parquet(folder, &recording.spans, strings)?);
    manifest.push(write_parquet(folder, &recording.counters, strings)?);
    manifest.push(write_parquet(folder, &recording.logs, strings)?);
    manifest.push(write_parquet(folder, &recording.losses, strings)?);
    manifest.push(write_parquet(folder, &recording.clocks, strings)?);
    manifest.write(folder)
}

pub(crate) fn write_dictionaries(
    folder: &Path,
    recording: &Recording,
    manifest: &mut Manifest,
) -> Result<(), FolderError> {
    let threads = thread_table(recording.threads.iter());
    let (frames, stacks) = stack_tables(recording, &Written::default());
    manifest.push(write_parquet(folder, &threads, &recording.strings)?);
    manifest.push(write_parquet(folder, &frames, &recording.strings)?);
    manifest.push(write_parquet(folder, &stacks, &recording.strings)?);
    Ok(())
}

pub(crate) fn write_parquet<T: Table>(folder: &Path, table: &T, strings: &Strings) -> Result<Entry, FolderError> {
    let mut writer = TableWriter::<T>::create(folder)?;
    writer.append(table, strings)?;
    writer.close()
}

/// How Parquet files with these columns are written. Without the smallest and largest text of each page: finding them
/// compares each row's text twice, and no reader can skip a page by them, as each page has texts of many kinds.
pub(crate) fn properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    for column in schema.fields().iter().filter(|column| is_of_texts(column.data_type())) {
        let path = ColumnPath::from(column.name().as_str());
        properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    properties.build()
}

/// The Parquet file of a table, which has its name when it is whole: a crash leaves the old file or the new one.
pub(crate) struct TableWriter<T> {
    pub(crate) path: PathBuf,
    writer: ArrowWriter<Hashed<File>>,
    pub(crate) rows: usize,
    table: PhantomData<T>,
}

impl<T: Table> TableWriter<T> {
    pub(crate) fn create(folder: &Path) -> Result<TableWriter<T>, FolderError> {
        let path = parquet_path(folder, T::NAME);
        let unfinished = path.with_extension("unfinished");
        let _ = fs::remove_file(&unfinished);
        let file = create_file(&unfinished)?;
        let schema = schema::<T>();
        let properties = properties(&schema);
        let writer = ArrowWriter::try_new(Hashed::new(file), Arc::new(schema), Some(properties));
        let writer = writer.map_err(|e| format_error(&path, &e))?;
        Ok(TableWriter { path, writer, rows: 0, table: PhantomData })
    }

    pub(crate) fn append(&mut self, table: &T, strings: &Strings) -> Result<(), FolderError> {
        for batch in batches(table, strings) {
            self.write(&batch.map_err(|e| format_error(&self.path, &e))?)?;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), FolderError> {
        self.rows += batch.num_rows();
        self.writer.write(batch).map_err(|e| format_error(&self.path, &e))
    }

    pub(crate) fn close(mut self) -> Result<Entry, FolderError> {
        self.writer.finish().map_err(|e| format_error(&self.path, &e))?;
        let entry = Entry::new(T::NAME, self.rows, self.writer.inner());
        // A power cut after the rename would leave a file with this name and nothing in it.
        self.writer.inner().sync().map_err(|e| io_error(&self.path, e))?;
        fs::rename(self.path.with_extension("unfinished"), &self.path).map_err(|e| io_error(&self.path, e))?;
        Ok(entry)
    }
}
