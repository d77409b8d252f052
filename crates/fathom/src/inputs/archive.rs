//! Archives and standard input: what is in them, as files in a folder of their own that is removed at the end.
//!
//! Names in an archive are somebody's: only their plain parts are used, so that nothing is written outside of the
//! folder, and how much is unpacked is bounded.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use tempfile::TempDir;

use super::entry::Entry;
use super::{tar, zip};

/// What an archive unpacks to at most, in bytes.
const UNPACKED_MAX_BYTES: u64 = 8 << 30;

/// Files that are taken out of an archive at most.
const FILES_MAX: usize = 4_096;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A folder that exists as long as somebody reads from it.
pub(crate) type Unpacked = Arc<TempDir>;

/// How the files of an archive are packed.
enum Packing {
    Tar,
    TarGz,
    Zip,
}

/// Unpacks the archive `path`; `None` when it is none.
pub(super) fn unpack(path: &Path) -> io::Result<Option<Unpacked>> {
    let Some(packing) = packing(path)? else { return Ok(None) };
    let mut folder = Folder::new()?;
    let file = File::open(path)?;
    match packing {
        Packing::Tar => tar::each_file(io::BufReader::new(file), &mut |entry, content| folder.add(entry, content))?,
        Packing::TarGz => {
            tar::each_file(MultiGzDecoder::new(file), &mut |entry, content| folder.add(entry, content))?;
        }
        Packing::Zip => zip::each_file(file, &mut |entry, content| folder.add(entry, content))?,
    }
    Ok(Some(Arc::new(folder.folder)))
}

/// Whether `path` is an archive that can be unpacked.
pub(super) fn is_archive(path: &Path) -> bool {
    packing(path).is_ok_and(|packing| packing.is_some())
}

/// What comes on standard input, as a file.
pub(super) fn standard_input() -> io::Result<(Unpacked, PathBuf)> {
    let mut folder = Folder::new()?;
    let entry = Entry { name: "standard_input".to_owned(), changed: SystemTime::now() };
    folder.add(&entry, &mut io::stdin().lock())?;
    let path = folder.folder.path().join(&entry.name);
    Ok((Arc::new(folder.folder), path))
}

fn packing(path: &Path) -> io::Result<Option<Packing>> {
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    File::open(path)?.take(tar::BLOCK_BYTES as u64).read_to_end(&mut head)?;
    if zip::is_zip(&head) {
        return Ok(Some(Packing::Zip));
    }
    if tar::is_tar(&head) {
        return Ok(Some(Packing::Tar));
    }
    if !head.starts_with(&GZIP_MAGIC) {
        return Ok(None);
    }
    let mut inside = Vec::new();
    // What is damaged is its reader's to tell.
    let _ = MultiGzDecoder::new(File::open(path)?).take(tar::BLOCK_BYTES as u64).read_to_end(&mut inside);
    Ok(tar::is_tar(&inside).then_some(Packing::TarGz))
}

/// Where files are unpacked to.
struct Folder {
    folder: TempDir,
    files: usize,
    bytes: u64,
}

impl Folder {
    fn new() -> io::Result<Folder> {
        let folder = tempfile::Builder::new().prefix("fathom-").tempdir()?;
        Ok(Folder { folder, files: 0, bytes: 0 })
    }

    fn add(&mut self, entry: &Entry, content: &mut dyn Read) -> io::Result<()> {
        let Some(path) = entry.path() else { return Ok(()) };
        self.files += 1;
        if self.files > FILES_MAX {
            return Err(io::Error::other(format!("more than {FILES_MAX} files: unpack it and name those that matter")));
        }
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(self.folder.path()))?;
        let mut file = File::create(&path)?;
        self.bytes += copy(content, &mut file, UNPACKED_MAX_BYTES.saturating_sub(self.bytes))?;
        // Logs without a wall clock are placed by it.
        file.set_modified(entry.changed)
    }
}

/// Copies all of `from`, unless it is more than `max_bytes`.
fn copy(from: &mut dyn Read, to: &mut File, max_bytes: u64) -> io::Result<u64> {
    let copied = io::copy(&mut from.take(max_bytes), to)?;
    let more = copied == max_bytes && io::copy(&mut from.take(1), &mut io::sink())? > 0;
    to.flush()?;
    match more {
        true => Err(io::Error::other(format!("more than {} GB unpacked", UNPACKED_MAX_BYTES >> 30))),
        false => Ok(copied),
    }
}
