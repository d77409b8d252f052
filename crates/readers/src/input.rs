//! Bytes of a file: memory-mapped when plain, unpacked when compressed with gzip, as UTF-8 when written in UTF-16.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::{Deref, Range};
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::read::MultiGzDecoder;
#[cfg(target_os = "linux")]
use memmap2::{Advice, UncheckedAdvice};

use crate::LoadError;
use crate::mapped::Mapped;
use crate::utf16::{self, Utf8};

pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Files up to this size are read rather than mapped: small files gain nothing from it.
const READ_MAX_BYTES: u64 = 4 << 20;

/// A gzip file unpacks to at most this many bytes; more is cut, so that a small hostile file
/// cannot fill the memory.
const UNPACKED_MAX_BYTES: u64 = 2 << 30;

/// What is read of a file from its beginning to its end stays in memory up to so many bytes.
const READ_TOGETHER_BYTES: usize = 16 << 20;

/// No more than this is brought into memory ahead, in bytes: what is read late must not push out what is read now.
#[cfg(target_os = "linux")]
const AHEAD_MAX_BYTES: usize = 256 << 20;

/// When a file was written, or the epoch where the system does not say.
pub fn written_ns(file: &Path) -> i64 {
    let written = fs::metadata(file).and_then(|data| data.modified()).ok();
    let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// The content of a file.
#[derive(Debug)]
pub struct Input {
    bytes: Bytes,
    /// Set when the content is not whole: one sentence that says why.
    damage: Option<String>,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapped),
    Owned(Vec<u8>),
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl Input {
    /// Opens `path`, unpacking it if it is compressed.
    pub fn open(path: &Path) -> Result<Input, LoadError> {
        Self::open_io(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })
    }

    /// Why the content is not whole, if so. Asked when all was read: a file may be cut until then.
    pub fn cut(&self) -> Option<&str> {
        let is_gone = matches!(&self.bytes, Bytes::Mapped(mapped) if mapped.was_cut());
        let gone = is_gone.then_some("the file was truncated while it was read: its end is missing");
        self.damage.as_deref().or(gone)
    }

    /// Says that all of `bytes` is about to be read. Otherwise each few pages cost a page fault.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    pub(crate) fn will_read(&self, bytes: Range<usize>) {
        #[cfg(target_os = "linux")]
        if let Bytes::Mapped(map) = &self.bytes
            && bytes.len() <= AHEAD_MAX_BYTES
        {
            // Older kernels do not know this, and then pages come when they are touched.
            let _ = map.map().advise_range(Advice::PopulateRead, bytes.start, bytes.len());
        }
    }

    /// Says that hardly any of `bytes` will be read again, so that a large file does not stay in the process's memory
    /// up to the end. Reading them still gives the same.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    pub(crate) fn was_read(&self, bytes: Range<usize>) {
        #[cfg(target_os = "linux")]
        if let Bytes::Mapped(map) = &self.bytes {
            // SAFETY: the map is of a file and never written to, so that a page that is dropped comes back from the
            // file as it was, or as zeros.
            let _ = unsafe { map.map().unchecked_advise_range(UncheckedAdvice::DontNeed, bytes.start, bytes.len()) };
        }
    }

    fn open_io(path: &Path) -> io::Result<Input> {
        let mut file = open_regular(path)?;
        let length = file.metadata()?.len();
        if length > READ_MAX_BYTES
            && let Some(mapped) = Mapped::of(&file)?
        {
            return Ok(unpack(Bytes::Mapped(mapped)));
        }
        let mut bytes = Vec::new();
        file.by_ref().take(length.max(READ_MAX_BYTES)).read_to_end(&mut bytes)?;
        Ok(unpack(Bytes::Owned(bytes)))
    }
}

/// How far a file was read that is read once from its beginning to its end: what lies behind is let go, so that a file of any
/// size takes [little memory](READ_TOGETHER_BYTES).
pub(crate) struct Passed<'a> {
    file: &'a Input,
    let_go: usize,
}

impl<'a> Passed<'a> {
    pub(crate) fn of(file: &'a Input) -> Passed<'a> {
        Passed { file, let_go: 0 }
    }

    /// All before `at` was read.
    #[inline]
    pub(crate) fn up_to(&mut self, at: usize) {
        if at.saturating_sub(self.let_go) >= READ_TOGETHER_BYTES {
            self.let_go(at);
        }
    }

    #[cold]
    fn let_go(&mut self, at: usize) {
        self.file.was_read(self.let_go..at.min(self.file.len()));
        self.let_go = at;
        self.file.will_read(at.min(self.file.len())..at.saturating_add(READ_TOGETHER_BYTES).min(self.file.len()));
    }
}

/// The first `max` bytes of the content.
pub(crate) fn head(path: &Path, max: usize) -> Result<Vec<u8>, LoadError> {
    head_io(path, max).map_err(|source| LoadError::Io { path: path.to_owned(), source })
}

fn head_io(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    open_regular(path)?.take(max as u64).read_to_end(&mut packed)?;
    let plain = if packed.starts_with(&GZIP_MAGIC) { gunzip(&packed, max as u64).0 } else { packed };
    Ok(as_utf8(&plain, max as u64).unwrap_or(plain))
}

/// The last `max` bytes of a file that is not packed.
pub(crate) fn tail(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let from = file.metadata()?.len().saturating_sub(max as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file that can be read to its end; refuses folders, pipes and devices.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

fn unpack(bytes: Bytes) -> Input {
    let mut plain = Input { bytes, damage: None };
    if plain.starts_with(&GZIP_MAGIC) {
        let (bytes, cut) = gunzip(&plain, UNPACKED_MAX_BYTES);
        plain = Input { bytes: Bytes::Owned(bytes), damage: cut };
    }
    if let Some(text) = as_utf8(&plain, UNPACKED_MAX_BYTES) {
        let is_cut = text.len() as u64 == UNPACKED_MAX_BYTES;
        let cut = is_cut.then(|| format!("only the first {UNPACKED_MAX_BYTES} bytes of its text were read"));
        plain = Input { bytes: Bytes::Owned(text), damage: plain.damage.or(cut) };
    }
    plain
}

/// Text that was written in UTF-16.
fn as_utf8(plain: &[u8], max_bytes: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let is_read = utf16::is_marked(plain) && Utf8::of(plain).take(max_bytes).read_to_end(&mut text).is_ok();
    is_read.then_some(text)
}

/// Unpacks as much as is whole, and says what is missing.
fn gunzip(packed: &[u8], max_bytes: u64) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let result = MultiGzDecoder::new(packed).take(max_bytes).read_to_end(&mut bytes);
    let cut = match result {
        Err(error) => Some(format!("the gzip data are damaged after {} unpacked bytes: {error}", bytes.len())),
        Ok(_) if bytes.len() as u64 == max_bytes => {
            Some(format!("only the first {max_bytes} unpacked bytes were read"))
        }
        Ok(_) => None,
    };
    (bytes, cut)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_unpacks_to_more_than_its_bound_is_cut_and_told() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&[0; 1_000_000]).unwrap();
        let packed = packer.finish().unwrap();
        assert!(packed.len() < 2_000);
        for (bytes, max_bytes, unpacked_bytes, says) in [
            (&packed[..], 1_000_001, 1_000_000, None),
            (&packed[..], 999, 999, Some("only the first 999 unpacked bytes")),
            (&packed[..1], 999, 0, Some("damaged after 0")),
        ] {
            let (unpacked, cut) = gunzip(bytes, max_bytes);
            assert_eq!(unpacked.len(), unpacked_bytes, "{cut:?}");
            assert!(
                cut.as_deref().unwrap_or_default().contains(says.unwrap_or_default())
                    && cut.is_some() == says.is_some()
            );
        }
    }
}
