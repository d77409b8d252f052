//! A file in an archive, of whatever kind.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file in an archive.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) changed: SystemTime,
}

impl Entry {
    /// With its last change in seconds since the epoch.
    pub(super) fn new(name: String, changed_s: u64) -> Entry {
        Entry { name, changed: UNIX_EPOCH.checked_add(Duration::from_secs(changed_s)).unwrap_or(UNIX_EPOCH) }
    }

    /// Where it goes below a folder: the plain parts of its name.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let parts = Path::new(&self.name).components();
        let plain: PathBuf = parts.filter(|part| matches!(part, Component::Normal(_))).collect();
        plain.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')).then_some(plain)
    }
}

/// Takes a file of an archive and its content.
pub(super) type Take<'t> = dyn FnMut(&Entry, &mut dyn Read) -> io::Result<()> + 't;
