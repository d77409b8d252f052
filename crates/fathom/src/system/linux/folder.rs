//! A folder that was opened once: names are resolved in it, even if its own path now leads elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::owner;
use crate::system::Found;

/// An open folder.
pub(crate) struct Folder(OwnedFd);

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Folder> {
        Ok(Folder(openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// A path that leads to the folder that was opened.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    pub(crate) fn find(&self, name: &OsStr) -> Result<Found> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(kind(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT) => Ok(Found::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a device or a pipe. A stranger's pipe in a folder for everybody was put there to read along.
    pub(crate) fn stream(&self, name: &OsStr) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let look = openat(&self.0, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        is_expected(&fstat(&look)?)?;
        let opened = openat(&self.0, name, flags, Mode::empty())?;
        is_expected(&fstat(&opened)?)?;
        Ok(File::from(opened))
    }
}

fn kind(of: FileType) -> Found {
    match of {
        FileType::RegularFile => Found::File,
        FileType::CharacterDevice | FileType::Fifo => Found::Stream,
        FileType::Symlink => Found::Other("a link, which is not followed"),
        FileType::Directory => Found::Other("a folder"),
        FileType::BlockDevice => Found::Other("a disk"),
        _ => Found::Other("no file"),
    }
}

fn is_expected(found: &Stat) -> Result<()> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::CharacterDevice => Ok(()),
        FileType::Fifo if owner::is_trusted(found.st_uid) => Ok(()),
        FileType::Fifo => bail!("this pipe belongs to user {}: name another", found.st_uid),
        _ => bail!("this was exchanged meanwhile"),
    }
}
