//! Lines of a text file of any size, in a buffer of fixed size.
//!
//! Logs are read, not mapped: rotation may cut a log while it is read, which would kill a process that has it mapped.
//! Reading costs little compared with finding the line ends. A line longer than [`MAX_LINE_BYTES`] is reported
//! separately and never held whole, so memory is bounded whatever the file holds.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memchr::memchr2;

use crate::LoadError;
use crate::input::{GZIP_MAGIC, open_regular};
use crate::utf16::Utf8;

/// Longest line that is looked at.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

const BUFFER_BYTES: usize = 1 << 20;

/// A gzip file unpacks to at most this many bytes, so that reading a hostile one ends.
const UNPACKED_MAX_BYTES: u64 = 32 << 30;

/// How much of a line is kept to be shown, in bytes.
const SHOWN_BYTES: usize = 300;

/// The beginning of a line, fit for a terminal whatever the line holds.
pub(crate) fn shown(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]);
    start.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A line without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The beginning of one that is longer than [`MAX_LINE_BYTES`].
    Overlong(&'a [u8]),
}

/// Gives each line of the file to `take`. The result says what is missing, if anything is.
pub(crate) fn read(path: &Path, take: &mut dyn FnMut(Line<'_>)) -> Result<Option<String>, LoadError> {
    let open = || -> io::Result<(File, bool)> {
        let mut file = open_regular(path)?;
        let mut magic = Vec::new();
        file.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic)?;
        file.rewind()?;
        Ok((file, magic == GZIP_MAGIC))
    };
    let (file, is_packed) = open().map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
    Ok(match is_packed {
        true => split(Utf8::of(MultiGzDecoder::new(file).take(UNPACKED_MAX_BYTES)), take),
        false => split(Utf8::of(file), take),
    })
}

/// Splits what `source` gives; says how it ended if not at its end.
fn split(mut source: impl Read, take: &mut dyn FnMut(Line<'_>)) -> Option<String> {
    let mut buffer = vec![0_u8; BUFFER_BYTES];
    let (mut filled, mut is_skipping, mut total) = (0, false, 0_u64);
    let ended = loop {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break None,
            Ok(count) => (filled, total) = (filled + count, total + count as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Some(format!("reading ended after {total} bytes: {error}")),
        }
        let used = lines(&buffer[..filled], &mut is_skipping, take);
        buffer.copy_within(used..filled, 0);
        filled -= used;
    };
    if filled > 0 && !is_skipping {
        let rest = &buffer[..filled];
        take(Line::Whole(rest.strip_suffix(b"\r").unwrap_or(rest)));
    }
    ended.or_else(|| (total == UNPACKED_MAX_BYTES).then(|| format!("only the first {total} unpacked bytes were read")))
}

/// Gives the whole lines of `bytes` to `take` and returns how many bytes are done with.
fn lines(bytes: &[u8], is_skipping: &mut bool, take: &mut dyn FnMut(Line<'_>)) -> usize {
    let mut used = 0;
    while let Some((length, end)) = line_end(&bytes[used..]) {
        let line = &bytes[used..used + length];
        match std::mem::take(is_skipping) {
            true => {}
            false if length > MAX_LINE_BYTES => take(Line::Overlong(&line[..MAX_LINE_BYTES])),
            false => take(Line::Whole(line)),
        }
        used += end;
    }
    if *is_skipping {
        return bytes.len();
    }
    if bytes.len() - used > MAX_LINE_BYTES {
        take(Line::Overlong(&bytes[used..used + MAX_LINE_BYTES]));
        *is_skipping = true;
        return bytes.len();
    }
    used
}

/// Length of the first line and where the next one begins. Copied through another system, a log may have lines that end with
/// a carriage return alone. Whether one at the very end is all there is of a line's end only the next byte tells.
fn line_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let length = memchr2(b'\n', b'\r', bytes)?;
    match (bytes[length], bytes.get(length + 1)) {
        (b'\n', _) => Some((length, length + 1)),
        (_, Some(b'\n')) => Some((length, length + 2)),
        (_, next) => next.map(|_| (length, length + 1)),
    }
}

/// The lines of the beginning of a file.
pub(crate) fn of_head(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| matches!(byte, b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives `step` bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn shapes(text: &[u8], step: usize) -> Vec<(bool, usize)> {
        let mut found = Vec::new();
        let cut = split(Slow(text, step), &mut |line| match line {
            Line::Whole(line) => found.push((true, line.len())),
            Line::Overlong(line) => found.push((false, line.len())),
        });
        assert_eq!(cut, None);
        found
    }

    #[test]
    fn shown_lines_are_short_and_cannot_move_the_cursor() {
        assert_eq!(shown(b"a\tb\x1b[2J\xff\0"), "a\tb\u{fffd}[2J\u{fffd}\u{fffd}");
        assert_eq!(shown(&[b'x'; 1_000]).len(), SHOWN_BYTES);
    }

    #[test]
    fn lines_of_any_length_in_any_portions() {
        let long = vec![b'x'; 3 * BUFFER_BYTES + 7];
        for step in [1 << 10, BUFFER_BYTES, 1 << 30] {
            assert_eq!(shapes(b"", step), []);
            assert_eq!(shapes(b"a\n\nbcd", step), [(true, 1), (true, 0), (true, 3)]);
            let text = [b"ab\n", &long[..], b"\ncd\n", &long[..MAX_LINE_BYTES], b"\n"].concat();
            assert_eq!(shapes(&text, step), [(true, 2), (false, MAX_LINE_BYTES), (true, 2), (true, MAX_LINE_BYTES)]);
            assert_eq!(shapes(&long, step), [(false, MAX_LINE_BYTES)]);
        }
    }

    #[test]
    fn line_ends_of_any_system() {
        for text in ["a\n\nbcd", "a\r\n\r\nbcd\r\n", "a\r\rbcd\r", "a\n\rbcd"] {
            for step in 1..4 {
                assert_eq!(shapes(text.as_bytes(), step), [(true, 1), (true, 0), (true, 3)], "{text:?} {step}");
            }
        }
    }

    #[test]
    fn the_last_line_of_a_cut_gzip_file_is_not_lost() {
        use std::io::Write;
        let text: String = (0..20_000).map(|i| format!("line {i} {}\n", i * i)).collect();
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        let packed = packer.finish().unwrap();
        let mut count = 0;
        let cut = split(MultiGzDecoder::new(&packed[..packed.len() / 2]), &mut |_| count += 1);
        assert!(cut.is_some() && count > 1_000, "{cut:?} {count}");
    }
}
