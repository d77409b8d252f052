//! Writing a recording that grows: one Arrow IPC stream per table.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use fathom_evidence::{Recording, Strings, Table};

use crate::batch::batches;
use crate::dictionaries::{Written, dictionary_tables};
use crate::error::{FolderError, format_error, io_error};
use crate::journal::Journal;
use crate::{create_file, stream_path};

/// Writes a recording that grows.
pub struct FolderWriter {
    folder: PathBuf,
    journal: Journal,
    streams: Vec<Stream>,
    written: Written,
}

/// The stream of a table: what is new is made in memory and written at once.
struct Stream {
    name: &'static str,
    file: File,
    length: u64,
    writer: StreamWriter<Vec<u8>>,
}

impl FolderWriter {
    /// Makes the folder, readable by its owner only. One that exists is taken if nothing is in it.
    pub fn create(folder: &Path) -> Result<Self, FolderError> {
        make_or_take(folder).map_err(|e| io_error(folder, e))?;
        let journal = Journal::create(folder)?;
        Ok(FolderWriter { folder: folder.to_owned(), journal, streams: Vec::new(), written: Written::default() })
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
            let index = self.stream(T::NAME, &path, &batch)?;
            let stream = &mut self.streams[index];
            stream.writer.write(&batch).map_err(|e| format_error(&path, &e))?;
            stream.write(&path, &mut self.journal)?;
        }
        Ok(())
    }

    fn stream(&mut self, name: &'static str, path: &Path, batch: &RecordBatch) -> Result<usize, FolderError> {
        if let Some(index) = self.streams.iter().position(|stream| stream.name == name) {
            return Ok(index);
        }
        let file = create_file(path)?;
        let writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(|e| format_error(path, &e))?;
        self.streams.push(Stream { name, file, length: 0, writer });
        Ok(self.streams.len() - 1)
    }
}

impl Stream {
    /// Puts what is new behind what is there, and notes it. What could only be written in part is taken back, so that the
    /// stream stays whole when there is room again.
    fn write(&mut self, path: &Path, journal: &mut Journal) -> Result<(), FolderError> {
        let bytes = self.writer.get_mut();
        if let Err(error) = self.file.write_all(bytes) {
            let taken_back = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(io_error(path, taken_back.err().unwrap_or(error)));
        }
        self.length += bytes.len() as u64;
        journal.note(self.name, bytes)?;
        bytes.clear();
        Ok(())
    }
}

fn make_or_take(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read_dir(folder)?.next() {
            None => Ok(()),
            Some(_) => Err(error),
        },
        made => made,
    }
}
