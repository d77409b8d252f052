//! Files and folders of the operating system: on Unix for their owner only, and locked by their writer.
//!
//! Windows has no such modes, and its locks keep others, and even other files of the writer, from reading. So nothing
//! is locked there, as on a file system without locks. Fathom records on Linux only.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{FolderError, io_error};
pub(crate) use system::{is_locked, lock, sync_folder, unlock};

/// Opens a file of a folder to read it. A pipe would let its reader wait for good, and a device never end.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = system::to_read().open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file")),
    }
}

pub(crate) fn create_file(path: &Path) -> Result<File, FolderError> {
    system::to_write().create_new(true).open(path).map_err(|e| io_error(path, e))
}

pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    system::folder().create(path)
}

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;

    /// Does not wait for the other end of a pipe.
    pub(super) fn to_read() -> OpenOptions {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).clone()
    }

    pub(super) fn to_write() -> OpenOptions {
        OpenOptions::new().write(true).mode(0o600).clone()
    }

    pub(super) fn folder() -> DirBuilder {
        let mut folder = DirBuilder::new();
        folder.mode(0o700);
        folder
    }

    /// Has the disk hold the names in a folder.
    pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Takes the writer's lock; false while another has it. A file system without locks has recordings that look cut off while
    /// they are written.
    pub(crate) fn lock(file: &File) -> bool {
        !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether another has the writer's lock.
    pub(crate) fn is_locked(file: &File) -> bool {
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    pub(crate) fn unlock(file: &File) {
        let _ = file.unlock();
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{DirBuilder, File, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn to_read() -> OpenOptions {
        OpenOptions::new().read(true).clone()
    }

    pub(super) fn to_write() -> OpenOptions {
        OpenOptions::new().write(true).clone()
    }

    pub(super) fn folder() -> DirBuilder {
        DirBuilder::new()
    }

    /// A folder cannot be opened as a file here.
    pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn lock(_: &File) -> bool {
        true
    }

    pub(crate) fn is_locked(_: &File) -> bool {
        false
    }

    pub(crate) fn unlock(_: &File) {}
}
