//! The state of a recording, and what was written to its streams: the file `journal`.
//!
//! The writer holds a lock on it for as long as it lives; the lock ends with the process, however that ends. One line per
//! batch has its length and checksum: bytes that a power cut left as zeros, or that a disk has flipped, are not trusted.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{FolderError, io_error};
use crate::files::{create_file, is_locked, lock, open_file, unlock};
use crate::{EXTENSION, manifest};

const NAME: &str = "journal";

/// A name of a table and two numbers.
const LINE_MAX_BYTES: u64 = 128;
/// Ten tables that are written once a second give some 300 bytes: this is more than a week.
const MAX_BYTES: u64 = 1 << 28;

/// For how long the lock is tried: a process that asks for a recording's [`state`] has it for an instant.
const LOOKS_END: Duration = Duration::from_millis(200);
/// How often it is tried.
const RETRY: Duration = Duration::from_millis(5);

/// How far a recording has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its writer is at work.
    Running,
    /// All that was to be in it is in it.
    Finished,
    /// Its writer is gone and has not finished it.
    CutOff,
}

/// The state of the recording in `folder`.
pub fn state(folder: &Path) -> State {
    if manifest::path(folder).is_file() {
        return State::Finished;
    }
    match open_file(&path(folder)) {
        Ok(journal) if is_locked(&journal) => State::Running,
        Ok(_) => State::CutOff,
        // Folders of before there was a journal: streams are removed when they have been made into Parquet.
        Err(_) if has_streams(folder) => State::CutOff,
        Err(_) => State::Finished,
    }
}

/// Whether the writer of a recording has made its folder and not come to its first write.
pub fn is_bare(folder: &Path) -> bool {
    match fs::metadata(path(folder)) {
        Ok(journal) => journal.len() == 0 && !manifest::path(folder).is_file(),
        Err(_) => {
            let is_named_so = folder.extension().is_some_and(|ending| ending == EXTENSION);
            is_named_so && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
        }
    }
}

fn has_streams(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|ending| ending == "arrows"))
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// An open journal, locked by the writer of the recording.
pub(crate) struct Locked(File);

impl Locked {
    /// `None` if another process writes.
    fn lock(file: File) -> Option<Locked> {
        let until = Instant::now() + LOOKS_END;
        while !lock(&file) {
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(RETRY);
        }
        Some(Locked(file))
    }

    /// The process that finishes the recording is its writer, and the only one.
    pub(crate) fn take_over(folder: &Path) -> Result<Locked, FolderError> {
        // Recordings of before there was a journal have their folder locked instead.
        let held = open_file(&path(folder)).or_else(|_| File::open(folder)).map_err(|e| io_error(folder, e))?;
        let locked = Locked::lock(held).ok_or_else(|| FolderError::InUse(folder.to_owned()))?;
        match manifest::path(folder).is_file() {
            // By the process that had the lock until now.
            true => Err(FolderError::FinishedAlready(folder.to_owned())),
            false => Ok(locked),
        }
    }
}

impl Drop for Locked {
    /// To close the file is not enough: a process that another thread starts at this moment has it too, until it executes
    /// something else, and the recording would seem to go on for so long.
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

/// The journal of a recording that is being written.
pub(crate) struct Journal {
    path: PathBuf,
    locked: Locked,
}

impl Journal {
    pub(crate) fn create(folder: &Path) -> Result<Journal, FolderError> {
        let path = path(folder);
        // Who finds a journal without its writer's lock may have taken the folder over.
        let locked = Locked::lock(create_file(&path)?).ok_or_else(|| FolderError::InUse(folder.to_owned()))?;
        Ok(Journal { path, locked })
    }

    /// Notes that `bytes` were put behind what the table's stream held.
    pub(crate) fn note(&mut self, table: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let line = format!("{table} {} {:016x}\n", bytes.len(), xxh3_64(bytes));
        self.locked.0.write_all(line.as_bytes()).map_err(|e: io::Error| io_error(&self.path, e))
    }
}

/// A chunk of a stream as its writer noted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) length: u64,
    checksum: u64,
}

impl Chunk {
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.length && xxh3_64(bytes) == self.checksum
    }
}

/// What was noted of a table's stream; `None` when there is no journal. A line that makes no sense ends it.
pub(crate) fn chunks(folder: &Path, table: &str) -> Option<Vec<Chunk>> {
    let mut journal = BufReader::new(open_file(&path(folder)).ok()?).take(MAX_BYTES);
    let (mut chunks, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        journal.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line).ok()?;
        match parse(&line) {
            Some((name, chunk)) if name == table => chunks.push(chunk),
            Some(_) => {}
            None => return Some(chunks),
        }
    }
}

fn parse(line: &[u8]) -> Option<(&str, Chunk)> {
    let mut words = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?.split(' ');
    let (table, length, checksum) = (words.next()?, words.next()?, words.next()?);
    Some((table, Chunk { length: length.parse().ok()?, checksum: u64::from_str_radix(checksum, 16).ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_journal_open_besides_its_writer_does_not_make_the_recording_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::create(folder.path()).unwrap();
        assert_eq!(state(folder.path()), State::Running);
        // What a process that is being started has of the one that starts it.
        let inherited = journal.locked.0.try_clone().unwrap();
        drop(journal);
        assert_eq!(state(folder.path()), State::CutOff);
        drop(inherited);
    }
}
