//! The parts of a finished recording: the file `manifest.json`, written last.
//!
//! With it, the absence of a table is noticed; without the table the recording would look healthier than the service was.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{FolderError, format_error, io_error};
use crate::files::{create_file, open_file, sync_folder};

/// A manifest has ten lines.
const MAX_BYTES: u64 = 1 << 16;

/// The tables as they were when the recording was finished.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    tables: Vec<Entry>,
    #[serde(skip)]
    is_damaged: bool,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    table: String,
    pub(crate) rows: u64,
    bytes: u64,
    xxh3: String,
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("manifest.json")
}

impl Manifest {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.tables.push(entry);
    }

    pub(crate) fn entry(&self, table: &str) -> Option<&Entry> {
        self.tables.iter().find(|entry| entry.table == table)
    }

    /// Why it is unknown whether the tables are those that were written, if so.
    pub(crate) fn why_unknown(read: Option<&Manifest>) -> Option<&'static str> {
        match read {
            None => Some("manifest.json is missing: whether the tables are those that were written is not known"),
            Some(damaged) if damaged.is_damaged => {
                Some("manifest.json is damaged: whether the tables are those that were written is not known")
            }
            Some(_) => None,
        }
    }

    /// Makes the recording finished.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let path = path(folder);
        let unfinished = path.with_extension("unfinished");
        let _ = fs::remove_file(&unfinished);
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| format_error(&path, &e))?;
        text.push(b'\n');
        let mut file = create_file(&unfinished)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(|e| io_error(&unfinished, e))?;
        // The disk has the tables' names before the manifest's, and that one before anybody removes the streams.
        sync_names(folder)?;
        fs::rename(&unfinished, &path).map_err(|e| io_error(&path, e))?;
        sync_names(folder)
    }

    /// `None` without a manifest; an empty one when it makes no sense: then each table is a stranger.
    pub(crate) fn read(folder: &Path) -> Option<Manifest> {
        let mut text = Vec::new();
        open_file(&path(folder)).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        Some(serde_json::from_slice(&text).unwrap_or(Manifest { tables: Vec::new(), is_damaged: true }))
    }
}

fn sync_names(folder: &Path) -> Result<(), FolderError> {
    match sync_folder(folder) {
        // Some file systems know no such thing for folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.map_err(|e| io_error(folder, e)),
    }
}

impl Entry {
    pub(crate) fn new<W>(table: &str, rows: usize, hashed: &Hashed<W>) -> Entry {
        Entry { table: table.to_owned(), rows: rows as u64, bytes: hashed.bytes, xxh3: hashed.checksum() }
    }

    /// Whether the file is as long as the one that was written.
    pub(crate) fn is_as_long_as(&self, file: &Path) -> bool {
        fs::metadata(file).is_ok_and(|data| data.len() == self.bytes)
    }

    /// Whether the file is the one that was written.
    pub(crate) fn is_of(&self, file: &Path) -> bool {
        let Some(file) = self.is_as_long_as(file).then(|| open_file(file).ok()).flatten() else { return false };
        let mut hashed = Hashed::new(io::sink());
        io::copy(&mut BufReader::with_capacity(1 << 16, file), &mut hashed).is_ok() && hashed.checksum() == self.xxh3
    }
}

/// What is written, with its checksum.
pub(crate) struct Hashed<W> {
    to: W,
    hash: Xxh3,
    bytes: u64,
}

impl<W> Hashed<W> {
    pub(crate) fn new(to: W) -> Hashed<W> {
        Hashed { to, hash: Xxh3::new(), bytes: 0 }
    }

    fn checksum(&self) -> String {
        format!("{:016x}", self.hash.digest())
    }
}

impl Hashed<File> {
    /// Waits until the disk has what was written.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.to.sync_all()
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
