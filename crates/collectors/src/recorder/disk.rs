//! Keeps a recording within its budget and the disk from filling up.

use std::path::{Path, PathBuf};

use super::{End, RecordError};
pub use crate::folder_size::size_bytes;

/// What must stay free on the disk, whatever the budget: other programs write there too.
const KEEP_FREE_BYTES: u64 = 64 << 20;

/// Of the budget, what rows may take until the end: the JVM's files and the tables that are made of both are put beside them.
const PART_OF_ROWS: u64 = 2;

/// The folder and how much it may hold.
pub(super) struct Disk {
    folder: PathBuf,
    max_bytes: u64,
    written_bytes: u64,
    free_bytes: u64,
}

impl Disk {
    pub(super) fn new(folder: &Path, max_bytes: u64) -> Disk {
        let mut disk = Disk { folder: folder.to_owned(), max_bytes, written_bytes: 0, free_bytes: u64::MAX };
        disk.measure();
        disk
    }

    /// Refuses when the disk is too full to begin.
    pub(super) fn has_room_to_begin(&self) -> Result<(), RecordError> {
        match self.free_bytes < 2 * KEEP_FREE_BYTES {
            true => Err(RecordError::NoRoom { free_bytes: self.free_bytes, wanted_bytes: 2 * KEEP_FREE_BYTES }),
            false => Ok(()),
        }
    }

    pub(super) fn measure(&mut self) {
        self.written_bytes = size_bytes(&self.folder);
        self.free_bytes = free_bytes(&self.folder);
    }

    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Whether the recording has to end.
    pub(super) fn ends(&self) -> Option<End> {
        if self.written_bytes >= self.max_bytes / PART_OF_ROWS {
            return Some(End::Budget);
        }
        (self.free_bytes < KEEP_FREE_BYTES).then_some(End::DiskFull)
    }
}

fn free_bytes(folder: &Path) -> u64 {
    let place = if folder.is_dir() { folder } else { folder.parent().unwrap_or(folder) };
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    // A disk that does not tell is taken for roomy: writing to it will tell.
    rustix::fs::statvfs(place).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// How many bytes more have to be free on the disk of a folder before a recording may begin there; 0 when it may.
pub fn missing_bytes(folder: &Path) -> u64 {
    (2 * KEEP_FREE_BYTES).saturating_sub(free_bytes(folder))
}
