//! Writing a recording that grows: one Arrow IPC stream per table.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use fathom_evidence::{Recording, Strings, Table};

use crate::batch::batches;
use crate::dictionaries::{Written, dictionary_tables};
use crate::error::{FolderError, format_error, io_error};
use crate::{create_file, stream_path};

/// Writes a recording that grows.
pub struct FolderWriter {
    folder: PathBuf,
    streams: Vec<Stream>,
    written: Written,
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

    fn append<T: Table>(&mut self, table: &T, strings: &Strings) -> Result<(), FolderError> {
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
