//! Files of others that a recording keeps as they are, beside its tables.
//!
//! Their owner may make them as long as they like, without using any disk of their own (a file of holes). So a file has a
//! bound, and none is copied until the disk is full.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Longest file that is kept: four times the bound of Fathom's own recording in the JVM, in bytes.
const LONGEST_BYTES: u64 = 256 << 20;
/// What must stay free on the disk, in bytes: other programs write there too.
const KEEP_FREE_BYTES: u64 = 64 << 20;
/// Copied from one look at the disk to the next, in bytes.
const STEP_BYTES: u64 = 16 << 20;

/// Writes a new file that only its owner can read. Of a file that is too long, or does not fit, the beginning is kept, and an
/// error says so.
pub(crate) fn keep(from: &mut impl Read, to: &Path) -> io::Result<()> {
    copy(from, &mut create(to)?, LONGEST_BYTES)
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
        _ => Err(io::Error::other(format!("longer than {longest_bytes} bytes: only the beginning was kept"))),
    }
}

/// An error if a file may not become so long.
pub(crate) fn has_room(file: &File, length_bytes: u64) -> io::Result<()> {
    match length_bytes > LONGEST_BYTES {
        true => Err(io::Error::other(format!("longer than {LONGEST_BYTES} bytes: only the beginning was kept"))),
        false => has_free_room(file),
    }
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
        let path = place.path().join("x.jfr");
        keep(&mut &b"x"[..], &path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(keep(&mut &b"y"[..], &path).is_err());
        assert!(!remove_if_empty(&path));
        std::fs::write(&path, "").unwrap();
        assert!(remove_if_empty(&path) && !path.exists());
    }
}
