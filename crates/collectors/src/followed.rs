//! Follows files that Flight Recorder or a profiler is writing and copies them: if the recorder is killed, the copy remains.
//!
//! Such a file is a sequence of chunks. The header of each chunk, which its writer rewrites in place, says how much of
//! the chunk is complete; only that is copied, and the header last.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fathom_evidence::kinds::recorded;

use crate::raw::{self, Raw};

/// From one time to the next: what is lost of the files, and some time to spare for their writer.
pub(crate) const PERIOD: Duration = Duration::from_secs(5);

const HEADER_BYTES: usize = 68;
const MAGIC: &[u8; 4] = b"FLR\0";
/// Where the header states the size of the chunk, in 8 bytes.
const SIZE_AT: usize = 8;
/// Copied at once.
const STEP_BYTES: usize = 1 << 20;

/// A copy, of one file or of several one after the other.
#[derive(Debug)]
pub(crate) struct Followed {
    raw: Raw,
    path: PathBuf,
    copy: Option<File>,
    /// Where the chunk that is being written begins, in its file and in the copy.
    chunk_at: u64,
    copy_at: u64,
    /// How much of it was copied.
    copied: u64,
    /// When it is continued; never once that has failed.
    next: Option<Instant>,
}

impl Followed {
    /// The copy for as long as the file `name` of the raw folder is not there.
    pub(crate) fn of(raw: &Raw, name: &str) -> Followed {
        let path = raw.file(&recorded::followed(name));
        Followed {
            raw: raw.clone(),
            path,
            copy: None,
            chunk_at: 0,
            copy_at: 0,
            copied: 0,
            next: Some(Instant::now() + PERIOD),
        }
    }

    /// Continues the copy when it is time; an error says, once, why there will be no more of it.
    pub(crate) fn when_due(&mut self, step: impl FnOnce(&mut Followed) -> io::Result<()>) -> io::Result<()> {
        if self.next.is_none_or(|next| Instant::now() < next) {
            return Ok(());
        }
        let stepped = step(self);
        self.next = stepped.is_ok().then(|| Instant::now() + PERIOD);
        stepped
    }

    /// What follows is of another file.
    pub(crate) fn begin_file(&mut self) {
        self.copy_at += self.copied;
        (self.chunk_at, self.copied) = (0, 0);
    }

    /// Copies what has become whole.
    pub(crate) fn step(&mut self, from: &File) -> io::Result<()> {
        while let Some(header) = Header::read(from, self.chunk_at)? {
            self.copy_chunk(from, &header)?;
            if Header::read(from, self.chunk_at + header.size)?.is_none() {
                break;
            }
            self.chunk_at += header.size;
            self.copy_at += header.size;
            self.copied = 0;
        }
        Ok(())
    }

    fn copy_chunk(&mut self, from: &File, header: &Header) -> io::Result<()> {
        if header.size <= self.copied {
            return Ok(());
        }
        let copy = match &mut self.copy {
            Some(copy) => copy,
            none => none.insert(raw::create(&self.path)?),
        };
        self.raw.has_room(copy, header.size - self.copied)?;
        let mut piece = vec![0; STEP_BYTES];
        while self.copied < header.size {
            let left = usize::try_from(header.size - self.copied).unwrap_or(STEP_BYTES).min(STEP_BYTES);
            from.read_exact_at(&mut piece[..left], self.chunk_at + self.copied)?;
            copy.write_all_at(&piece[..left], self.copy_at + self.copied)?;
            self.copied += left as u64;
        }
        copy.write_all_at(&header.bytes, self.copy_at)
    }

    /// Takes the copy away: what it follows was taken as a whole.
    pub(crate) fn remove(self) {
        if self.copy.is_some() {
            raw::remove(&self.path);
        }
    }
}

/// The header of a chunk of which something is whole.
struct Header {
    bytes: [u8; HEADER_BYTES],
    size: u64,
}

impl Header {
    fn read(file: &File, at: u64) -> io::Result<Option<Header>> {
        let end = file.metadata()?.len();
        if end < at.saturating_add(HEADER_BYTES as u64) {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, at)?;
        let size = u64::from_be_bytes(std::array::from_fn(|i| bytes[SIZE_AT + i]));
        let is_whole = bytes.starts_with(MAGIC) && size > HEADER_BYTES as u64 && size <= end - at;
        Ok(is_whole.then_some(Header { bytes, size }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A chunk that states `size` bytes and has `length`.
    fn chunk(size: u64, length: usize, fill: u8) -> Vec<u8> {
        let mut bytes = vec![fill; length];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[SIZE_AT..SIZE_AT + 8].copy_from_slice(&size.to_be_bytes());
        bytes
    }

    fn copied(place: &Path) -> Vec<u8> {
        std::fs::read(place.join(recorded::followed("x.jfr"))).unwrap_or_default()
    }

    #[test]
    fn what_is_whole_is_copied_and_its_header_rewritten() {
        let place = tempfile::tempdir().unwrap();
        let (from, mut followed) = (tempfile::tempfile().unwrap(), Followed::of(&Raw::left(place.path()), "x.jfr"));
        // A writer that has stated nothing yet; then 100 of 150 bytes; then all, and half of the next.
        from.write_all_at(&chunk(0, 120, 1), 0).unwrap();
        followed.step(&from).unwrap();
        assert_eq!(copied(place.path()), b"");
        from.write_all_at(&chunk(100, 150, 1), 0).unwrap();
        followed.step(&from).unwrap();
        assert_eq!(copied(place.path()), chunk(100, 100, 1));
        from.write_all_at(&chunk(150, 150, 1), 0).unwrap();
        from.write_all_at(&chunk(80, 200, 2), 150).unwrap();
        followed.step(&from).unwrap();
        followed.step(&from).unwrap();
        assert_eq!(copied(place.path()), [chunk(150, 150, 1), chunk(80, 80, 2)].concat());
        // Another file follows.
        let from = tempfile::tempfile().unwrap();
        from.write_all_at(&chunk(90, 90, 3), 0).unwrap();
        followed.begin_file();
        followed.step(&from).unwrap();
        assert_eq!(copied(place.path()), [chunk(150, 150, 1), chunk(80, 80, 2), chunk(90, 90, 3)].concat());
        followed.remove();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn sizes_that_cannot_be_are_not_believed() {
        let place = tempfile::tempdir().unwrap();
        for size in [0, 1, 68, 151, u64::MAX] {
            let (from, mut followed) = (tempfile::tempfile().unwrap(), Followed::of(&Raw::left(place.path()), "x.jfr"));
            from.write_all_at(&chunk(size, 150, 1), 0).unwrap();
            followed.step(&from).unwrap();
            assert_eq!(copied(place.path()), b"", "{size}");
        }
    }
}
