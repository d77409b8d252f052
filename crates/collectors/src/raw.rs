//! Files of other programs that a recording keeps unchanged, beside its tables.
//!
//! Their owner may make them as long as they like, without using any disk space (a sparse file). So each file has a
//! limit, all together have their part of the recording's budget, and copying never fills the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::recorded;

use crate::folder_size::size_bytes;

/// Longest file that is kept: four times the bound of Fathom's own recording in the JVM, in bytes.
const LONGEST_BYTES: u64 = 256 << 20;
/// Of the recording's budget; half of that is for rows as they are written, and another quarter for the tables that are made of
/// them at the end.
const PART_OF_BUDGET: u64 = 4;
/// What must stay free on the disk, in bytes: other programs write there too.
const KEEP_FREE_BYTES: u64 = 64 << 20;
/// Copied from one look at the disk to the next, in bytes.
const STEP_BYTES: u64 = 16 << 20;

/// The folder of such files, and what they may take together.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    folder: PathBuf,
    max_bytes: u64,
}

impl Raw {
    /// That of a recording, which may hold so many bytes.
    pub(crate) fn of(recording: &Path, max_bytes: u64) -> Raw {
        Raw { folder: recording.join("raw"), max_bytes: max_bytes / PART_OF_BUDGET }
    }

    /// One that is there, of a recording whose budget is not known any more.
    pub(crate) fn left(folder: &Path) -> Raw {
        Raw { folder: folder.to_owned(), max_bytes: u64::MAX }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a new file that only its owner can read. Of a file that is too long, or does not fit, the beginning is kept, and
    /// an error says so.
    pub(crate) fn keep(&self, from: &mut impl Read, name: &str) -> io::Result<()> {
        // The copy that followed it is taken away then; until the tables are made there is room for both.
        let copy_bytes = std::fs::metadata(self.file(&recorded::followed(name))).map_or(0, |data| data.len());
        let left = self.left_bytes(copy_bytes);
        copy(from, &mut create(&self.file(name))?, left)
    }

    /// An error if what is there may not become longer by so many bytes.
    pub(crate) fn has_room(&self, file: &File, more_bytes: u64) -> io::Result<()> {
        let left = self.left_bytes(0);
        match more_bytes > left {
            true => Err(too_long(left)),
            false => has_free_room(file),
        }
    }

    /// What is left when so many bytes that are there will not stay.
    fn left_bytes(&self, going_bytes: u64) -> u64 {
        let staying_bytes = size_bytes(&self.folder).saturating_sub(going_bytes);
        LONGEST_BYTES.min(self.max_bytes.saturating_sub(staying_bytes))
    }
}

/// Makes a new file that only its owner can read.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Gives a file that is whole its name.
pub(crate) fn name(partly: &Path, whole: &Path) -> io::Result<()> {
    std::fs::rename(partly, whole)
}

/// Takes a kept file away that another one makes superfluous. One that stays does no harm.
pub(crate) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn copy(mut from: &mut impl Read, to: &mut File, longest_bytes: u64) -> io::Result<()> {
    let mut left = longest_bytes;
    while left > 0 {
        has_free_room(to)?;
        let step = left.min(STEP_BYTES);
        let copied = io::copy(&mut (&mut from).take(step), to)?;
        left -= copied;
        if copied < step {
            return Ok(());
        }
    }
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(too_long(longest_bytes)),
    }
}

fn too_long(longest_bytes: u64) -> io::Error {
    io::Error::other(format!("longer than {longest_bytes} bytes: only the beginning was kept"))
}

fn has_free_room(file: &File) -> io::Result<()> {
    match free_bytes(file) < KEEP_FREE_BYTES + STEP_BYTES {
        true => Err(io::Error::other("the disk is nearly full: only the beginning was kept")),
        false => Ok(()),
    }
}

/// Takes a kept file away that has nothing in it; whether it was so.
pub(crate) fn remove_if_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.len() == 0) && std::fs::remove_file(path).is_ok()
}

/// A disk that does not tell is taken for roomy: writing to it will tell.
fn free_bytes(file: &File) -> u64 {
    rustix::fs::fstatvfs(file).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_endless_file_is_kept() {
        for (length, is_whole) in [(0, true), (99, true), (100, true), (101, false), (u64::MAX, false)] {
            let mut file = tempfile::tempfile().unwrap();
            let copied = copy(&mut io::repeat(b'x').take(length), &mut file, 100);
            assert_eq!((copied.is_ok(), file.metadata().unwrap().len()), (is_whole, length.min(100)), "{copied:?}");
        }
    }

    #[test]
    fn a_file_is_for_its_owner_and_replaces_none() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let raw = Raw::left(place.path());
        let path = raw.file("x.jfr");
        raw.keep(&mut &b"x"[..], "x.jfr").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(raw.keep(&mut &b"y"[..], "x.jfr").is_err());
        assert!(!remove_if_empty(&path));
        std::fs::write(&path, "").unwrap();
        assert!(remove_if_empty(&path) && !path.exists());
    }
    #[test]
    fn all_together_have_a_budget() {
        let place = tempfile::tempdir().unwrap();
        let raw = Raw { folder: place.path().to_owned(), max_bytes: 10 };
        raw.keep(&mut &[0; 6][..], "a").unwrap();
        let file = File::open(raw.file("a")).unwrap();
        assert!(raw.has_room(&file, 4).is_ok() && raw.has_room(&file, 5).is_err());
        for name in ["b", "c"] {
            assert!(raw.keep(&mut &[0; 6][..], name).unwrap_err().to_string().contains("only the beginning"));
        }
        assert_eq!(size_bytes(place.path()), 10);
    }
}
