//! Reading procfs, sysfs and cgroupfs: each file opened once and read again by `pread` into a buffer
//! that is kept; text taken apart as bytes, without allocating.
//!
//! Nothing in it is trusted: a file may be longer than any memory, have no line end, or contain any bytes. Only paths that
//! the kernel itself (or the administrator, as `/etc`) names are opened here; paths that a process chose are for `foreign`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// More than this is not read of a file.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// More is not read of the lists that are longest: mappings of a heap of many pieces, and the kernel's functions.
const LONG_BYTES: u64 = 64 << 20;

/// Asked for at once; the kernel hands out most files in pieces of a page.
const PIECE_BYTES: usize = 32 << 10;

/// A file whose text changes, kept open.
#[derive(Debug)]
pub(crate) struct ProcFile(File);

impl ProcFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<ProcFile> {
        Ok(ProcFile(File::open(path)?))
    }

    /// Opens `path` in an open folder.
    pub(crate) fn open_at(folder: impl AsFd, path: &str) -> io::Result<ProcFile> {
        let opened = rustix::fs::openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(ProcFile(File::from(opened)))
    }

    /// The whole text as it is now.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut length = 0;
        loop {
            if buffer.len() < length + PIECE_BYTES {
                buffer.resize(length + PIECE_BYTES, 0);
            }
            let piece = self.read_at(&mut buffer[length..], length)?;
            length += piece;
            if piece == 0 || length >= MAX_BYTES {
                return Ok(&buffer[..length]);
            }
        }
    }

    /// The text of a file that the kernel makes in one piece of less than a page, in one call.
    pub(crate) fn read_short<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if buffer.len() < PIECE_BYTES {
            buffer.resize(PIECE_BYTES, 0);
        }
        let length = self.read_at(buffer, 0)?;
        Ok(&buffer[..length])
    }

    fn read_at(&self, buffer: &mut [u8], offset: usize) -> io::Result<usize> {
        loop {
            match self.0.read_at(buffer, offset as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// What a link of the kernel leads to, as a place only: it can be looked at, not read.
pub(crate) fn place(path: impl AsRef<Path>, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | more;
    Ok(rustix::fs::openat(rustix::fs::CWD, path.as_ref(), flags, Mode::empty())?)
}

/// Whether a descriptor is open for writing, by its file in `fdinfo`.
pub(crate) fn is_open_for_writing(fdinfo: impl AsRef<Path>) -> bool {
    let mut buffer = Vec::new();
    ProcFile::open(fdinfo).and_then(|file| file.read_short(&mut buffer).map(is_written)).unwrap_or(false)
}

/// One that is a place only (`O_PATH`) has neither of the two flags.
fn is_written(fdinfo: &[u8]) -> bool {
    let flags = lines(fdinfo).find_map(|line| line.strip_prefix(b"flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(utf8(flags)?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

/// A file or folder, open.
pub(crate) fn file(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path)
}

/// The bytes of a file that is read once.
pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    at_most(path.as_ref(), MAX_BYTES as u64)
}

/// The bytes of one of the longest lists.
pub(crate) fn read_long(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    at_most(path.as_ref(), LONG_BYTES)
}

fn at_most(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut all)?;
    Ok(all)
}

/// The text of a file that is read once, as it stands there.
pub(crate) fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// Where a link leads, as the kernel writes it; nothing is opened.
pub(crate) fn link(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(fs::read_link(path)?.to_string_lossy().into_owned())
}

/// The names in a folder; none when it cannot be read.
pub(crate) fn names(path: impl AsRef<Path>) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The path without links; none when nothing is there.
pub(crate) fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// The text of a small file that is read once, without blanks around it; `None` when it cannot be
/// read or is empty. Bytes that are no UTF-8 are replaced.
pub(crate) fn text_of(path: impl AsRef<Path>) -> Option<String> {
    let mut buffer = Vec::new();
    let text =
        ProcFile::open(path).ok()?.read(&mut buffer).map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    text.ok().filter(|text| !text.is_empty())
}

/// The lines of a text, without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// What stands between the blanks of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// A decimal number and nothing else. One that is too large for 64 bits is none.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    let digits = || word.iter().map(|byte| byte.wrapping_sub(b'0'));
    if word.is_empty() || digits().any(|digit| digit > 9) {
        return None;
    }
    digits().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit)))
}

/// A hexadecimal number and nothing else.
pub(crate) fn hex(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| Some(sum << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// A word as text; `None` when it is no UTF-8.
pub(crate) fn utf8(word: &[u8]) -> Option<&str> {
    std::str::from_utf8(word).ok()
}

/// Lines of a name and a number, as `vmstat`, `memory.stat` and `cpu.stat` have them. Lines of
/// another form are left out.
pub(crate) fn named_numbers(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let name = utf8(words.next()?)?;
        Some((name.trim_end_matches(':'), number(words.next()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_only_and_fit() {
        for (word, expected) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999999999999999", None),
            ("", None),
            ("-1", None),
            ("1 ", None),
            ("1k", None),
        ] {
            assert_eq!(number(word.as_bytes()), expected, "{word:?}");
        }
        for (word, expected) in [
            ("0", Some(0)),
            ("00033E00", Some(0x33e00)),
            ("ffffffffffffffff", Some(u64::MAX)),
            ("10000000000000000", None),
            ("", None),
            ("g", None),
        ] {
            assert_eq!(hex(word.as_bytes()), expected, "{word:?}");
        }
    }

    #[test]
    fn files_are_read_whole_and_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("text");
        let mut buffer = Vec::new();
        std::fs::write(&path, vec![b'x'; 3 * PIECE_BYTES + 5]).unwrap();
        let file = ProcFile::open(&path).unwrap();
        assert_eq!(file.read(&mut buffer).unwrap().len(), 3 * PIECE_BYTES + 5);
        std::fs::write(&path, "a 1\nb: 2 kB\n\nc\nd x\n\u{fe}\u{ff} 3\ne 4").unwrap();
        let text = file.read(&mut buffer).unwrap();
        let found: Vec<(&str, u64)> = named_numbers(text).filter(|(name, _)| name.is_ascii()).collect();
        assert_eq!(found, [("a", 1), ("b", 2), ("e", 4)]);
        assert_eq!(file.read_short(&mut buffer).unwrap(), std::fs::read(&path).unwrap());
        assert_eq!(text_of(place.path().join("none")), None);
    }

    #[test]
    fn descriptors_that_are_open_for_writing() {
        for (text, expected) in [
            ("pos:\t0\nflags:\t0100000\nmnt_id:\t27\n", false),
            ("pos:\t0\nflags:\t0100001\n", true),
            ("flags:\t02102002\n", true),
            ("flags:\t012000000\n", false),
            ("flags:\tx\n", false),
            ("", false),
        ] {
            assert_eq!(is_written(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let by_words = lines(&bytes).flat_map(words).map(<[u8]>::len).sum::<usize>();
            proptest::prop_assert!(by_words <= bytes.len());
            let _ = (named_numbers(&bytes).count(), number(&bytes), hex(&bytes), is_written(&bytes));
        });
    }
}
