//! Archives: reads the files in a tar (plain or gzip) or a zip, one after the other, and reports what is lost.
//!
//! Constraints: archives come from strangers and may be cut. What can be read is read, also after damage; what cannot
//! is a [`Lost`] with the member's name, never silence. Names, lengths and counts are trusted only up to a bound, and
//! memory does not grow with an archive. The caller limits how much is unpacked in all.

mod content;
mod tar;
mod zip;

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::read::MultiGzDecoder;

use content::Content;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// So much of a file is looked at for the header of a tar: the first one may be damaged.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// More losses of one archive are counted, not told one by one.
const TOLD_MAX: usize = 100;

/// How the files of an archive are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// A tar archive.
    Tar,
    /// One that is compressed by gzip.
    TarGz,
    /// A zip archive.
    Zip,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, as the archive has it.
    pub name: String,
    /// When it was changed last.
    pub changed: SystemTime,
}

impl Member {
    /// With its last change in seconds since the epoch.
    fn new(name: String, changed_s: u64) -> Member {
        Member { name, changed: UNIX_EPOCH.checked_add(Duration::from_secs(changed_s)).unwrap_or(UNIX_EPOCH) }
    }
}

/// Takes a member and its content. An error ends the reading: damage of the archive comes as the content's end.
pub type Take<'t> = dyn FnMut(&Member, &mut dyn Read) -> io::Result<()> + 't;

/// What of an archive is lost, one line each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lost {
    says: Vec<String>,
    more: usize,
}

impl Lost {
    fn of_member(&mut self, name: &str, says: impl AsRef<str>) {
        let name = if name.is_empty() { "a file without a name" } else { name };
        self.of_archive(format!("{name}: {}", says.as_ref()));
    }

    /// Adds something.
    pub fn of_archive(&mut self, says: impl Into<String>) {
        match self.says.len() < TOLD_MAX {
            true => self.says.push(says.into()),
            false => self.more += 1,
        }
    }

    /// What is lost; nothing if all was read.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.says.clone();
        if self.more > 0 {
            lines.push(format!("{} more losses in this archive", self.more));
        }
        lines
    }
}

/// How `path` is packed; `None` when it is no archive.
pub fn packing(path: &Path) -> io::Result<Option<Packing>> {
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let head = head_of(File::open(path)?)?;
    if zip::is_zip(&head) {
        return Ok(Some(Packing::Zip));
    }
    if tar::is_tar(&head) {
        return Ok(Some(Packing::Tar));
    }
    if !head.starts_with(&GZIP_MAGIC) {
        return Ok(None);
    }
    Ok(tar::is_tar(&head_of(MultiGzDecoder::new(File::open(path)?))?).then_some(Packing::TarGz))
}

/// The beginning, as far as it can be read: what is damaged is its reader's to tell.
fn head_of(file: impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match file.take(LOOKED_AT_BYTES).read_to_end(&mut head) {
        Err(error) if head.is_empty() && error.raw_os_error().is_some() => Err(error),
        _ => Ok(head),
    }
}

/// Gives each member to `take`, and says what is lost.
pub fn each_member(path: &Path, packing: Packing, take: &mut Take<'_>) -> io::Result<Lost> {
    let file = File::open(path)?;
    match packing {
        Packing::Tar => tar::each_member(BufReader::new(file), take),
        Packing::TarGz => tar::each_member(BufReader::new(MultiGzDecoder::new(file)), take),
        Packing::Zip => zip::each_member(BufReader::new(file), take),
    }
}

/// The same for bytes that are in memory.
pub fn each_member_of(bytes: &[u8], take: &mut Take<'_>) -> io::Result<Lost> {
    match bytes {
        _ if zip::is_zip(bytes) => zip::each_member(io::Cursor::new(bytes), take),
        _ if bytes.starts_with(&GZIP_MAGIC) => tar::each_member(MultiGzDecoder::new(bytes), take),
        _ => tar::each_member(bytes, take),
    }
}
