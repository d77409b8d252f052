//! Writing a recording that grows: one Arrow IPC stream per table.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use arrow_ipc::writer::StreamWriter;
use fathom_evidence::tables::{
    Clocks, Counters, Facts, Logs, Losses, Samples, Spans, StoredFrames, StoredStacks, StoredThreads,
};
use fathom_evidence::{Recording, Strings, Table};

use crate::batch::{batches, schema};
use crate::dictionaries::{Written, stack_tables, thread_table};
use crate::error::{FolderError, format_error, io_error};
use crate::files::{create_file, create_folder};
use crate::journal::Journal;
use crate::stream_path;

/// Writes a recording that grows.
pub struct FolderWriter {
    journal: Journal,
    streams: Vec<Stream>,
    written: Written,
}

/// The stream of a table: what is new is made in memory and written at once.
struct Stream {
    name: &'static str,
    path: PathBuf,
    file: File,
    length: u64,
    writer: StreamWriter<Vec<u8>>,
}

impl FolderWriter {
    /// Makes the folder, readable by its owner only. An existing folder is used if it is empty. All files are opened
    /// now: later the collectors may have used up all descriptors of this process.
    pub fn create(folder: &Path) -> Result<Self, FolderError> {
        make_or_take(folder).map_err(|e| io_error(folder, e))?;
        let journal = Journal::create(folder)?;
        let streams = vec![
            Stream::create::<StoredThreads>(folder)?,
            Stream::create::<StoredFrames>(folder)?,
            Stream::create::<StoredStacks>(folder)?,
            Stream::create::<Facts>(folder)?,
            Stream::create::<Samples>(folder)?,
            Stream::create::<Spans>(folder)?,
            Stream::create::<Counters>(folder)?,
            Stream::create::<Logs>(folder)?,
            Stream::create::<Losses>(folder)?,
            Stream::create::<Clocks>(folder)?,
        ];
        Ok(FolderWriter { journal, streams, written: Written::default() })
    }

    /// Writes all rows and what is new in the dictionaries, then drops the rows (ids stay valid).
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

    fn flush_dictionaries(&mut self, recording: &mut Recording) -> Result<(), FolderError> {
        let (frames, stacks) = stack_tables(recording, &self.written);
        self.append(&thread_table(recording.threads.changed()), &recording.strings)?;
        recording.threads.forget_changes();
        self.append(&frames, &recording.strings)?;
        self.append(&stacks, &recording.strings)?;
        self.written = Written { frames: recording.stacks.frame_count(), stacks: recording.stacks.stack_count() };
        Ok(())
    }

    fn append<T: Table>(&mut self, table: &T, strings: &Strings) -> Result<(), FolderError> {
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.name == T::NAME) else { return Ok(()) };
        for batch in batches(table, strings) {
            let batch = batch.map_err(|e| format_error(&stream.path, &e))?;
            stream.writer.write(&batch).map_err(|e| format_error(&stream.path, &e))?;
            stream.write(&mut self.journal)?;
        }
        Ok(())
    }
}

impl Stream {
    fn create<T: Table>(folder: &Path) -> Result<Stream, FolderError> {
        let path = stream_path(folder, T::NAME);
        let file = create_file(&path)?;
        let writer = StreamWriter::try_new(Vec::new(), &schema::<T>()).map_err(|e| format_error(&path, &e))?;
        Ok(Stream { name: T::NAME, path, file, length: 0, writer })
    }

    /// Puts what is new behind what is there, and notes it. What could only be written in part is taken back, so that the
    /// stream stays whole when there is room again.
    fn write(&mut self, journal: &mut Journal) -> Result<(), FolderError> {
        let bytes = self.writer.get_mut();
        if let Err(error) = self.file.write_all(bytes) {
            let taken_back = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(io_error(&self.path, taken_back.err().unwrap_or(error)));
        }
        self.length += bytes.len() as u64;
        journal.note(self.name, bytes)?;
        bytes.clear();
        Ok(())
    }
}

/// Makes the folder, for its owner only, or takes one in which nothing is.
pub(crate) fn make_or_take(folder: &Path) -> io::Result<()> {
    match create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read_dir(folder)?.next() {
            None => Ok(()),
            Some(_) => Err(error),
        },
        made => made,
    }
}
