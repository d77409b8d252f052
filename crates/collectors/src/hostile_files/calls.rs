//! The calls that open files of foreign processes. Each needs the proof that the thread has the process's rights; there
//! is no other way to make one (`.ci/checks/files` sees to that).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, open, openat, openat2, statat, unlinkat,
};
use rustix::io::Errno;

use super::Acting;

/// A lookup that a rename interrupted is tried again, at most this often: a hostile process may rename without end.
const LOOKUPS_MAX: usize = 16;

/// Opened as a place only, without any effect on what is there.
pub(super) const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Reading that never waits: not for the other end of a pipe, nor for the holder of a lease.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Looks up a path as if `root` were ours: neither `..` nor a link leads out of it.
pub(super) fn inside(
    _: &Acting,
    root: impl AsFd,
    path: &str,
    flags: OFlags,
    more: ResolveFlags,
) -> io::Result<OwnedFd> {
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | more;
    for _ in 0..LOOKUPS_MAX {
        match openat2(&root, path, flags, Mode::empty(), within) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            found => return Ok(found?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// What has a name in a folder, whatever it is; no link is followed, and nothing happens to it.
pub(super) fn pin(_: &Acting, folder: impl AsFd, name: &str, more: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, PLACE | OFlags::NOFOLLOW | more, Mode::empty())?)
}

/// What a path of our own machine leads to.
pub(super) fn pin_own(_: &Acting, path: &str) -> io::Result<OwnedFd> {
    Ok(open(path, PLACE, Mode::empty())?)
}

/// Opens a folder for its names.
pub(super) fn folder(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, READ | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens what was found for reading, if it is a regular file.
pub(super) fn regular(_: &Acting, found: OwnedFd, name: &str) -> io::Result<(File, Stat)> {
    let is = fstat(&found)?;
    match FileType::from_raw_mode(is.st_mode) {
        FileType::RegularFile => {}
        other => return Err(io::Error::other(format!("{name} is a {other:?}, not a file"))),
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok((File::from(open(path, READ, Mode::empty())?), is))
}

/// Looks at what has a name in a folder; `None` when nothing has.
pub(super) fn stat(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<Option<Stat>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// The names in a folder, as many as `most` at most.
pub(super) fn names(acting: &Acting, of: impl AsFd, most: usize) -> Vec<String> {
    let entries = folder(acting, of, ".").and_then(|folder| Ok(Dir::new(folder)?)).into_iter();
    let entries = entries.flat_map(Iterator::flatten).take(most);
    entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).collect()
}

/// Makes a file that is new and its owner's only.
pub(super) fn create_file(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Makes a folder that is new and its owner's only.
pub(super) fn create_folder(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(mkdirat(folder, name, Mode::RWXU)?)
}

/// Takes a file's name away; a folder is left as it is.
pub(super) fn remove_file(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// Removes an empty folder.
pub(super) fn remove_folder(_: &Acting, folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
