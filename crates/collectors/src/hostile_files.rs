//! Opens all files of foreign processes: their names come from the target, or from any user of a world-writable folder,
//! and may be exchanged at any moment. Nothing else in this crate opens such a path (`.ci/checks/files` sees to it).
//!
//! Names may be links planted for us to follow, pipes without a writer, devices, files without an end, files whose
//! owner holds a lease, files that the process itself could not open. So everything is opened with the process's own
//! rights ([`acting_as`]). The target's root is entered once, as a folder, and paths are resolved inside it. The last
//! part of a name is never followed. What was found is checked before it is opened for reading, and opened without
//! waiting. Type and owner are read from the opened file, not from its name.
//!
//! Links of the kernel itself (the process's root and working folder, its descriptors and mappings) are opened with our
//! own rights, but as a place only: reading needs the process's rights.

mod calls;
mod rights;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use fathom_symbols::maps::Mapping;
use rustix::fs::{OFlags, ResolveFlags, Stat, fstat};
use rustix::io::Errno;

use calls::PLACE;
pub(crate) use rights::{Acting, acting_as};

use crate::{Target, procfs};

/// Where HotSpot has its sockets and counters, whatever `java.io.tmpdir` says.
const TEMPORARY: &str = "tmp";

/// The root of the target's mount namespace.
fn root_of(target: &Target) -> io::Result<OwnedFd> {
    procfs::place(target.proc("root"), OFlags::DIRECTORY)
}

/// The folder that is the target's root, where the kernel writes its paths with that folder before them: a process that was only
/// given another root (`chroot`). A root that is a mount namespace's own, as in most containers, is not seen in paths.
#[derive(Debug, Clone)]
pub(crate) struct Root(String);

impl Root {
    pub(crate) fn of(target: &Target) -> Root {
        let folder = procfs::link(target.proc("root")).unwrap_or_default();
        Root(folder.trim_end_matches('/').to_owned())
    }

    /// A path of the kernel as the target names it. What is not in its root keeps its name.
    pub(crate) fn inside<'a>(&self, path: &'a str) -> &'a str {
        match path.strip_prefix(&*self.0) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }
}

/// The target's `/tmp`.
pub(crate) fn tmp_of(target: &Target) -> io::Result<OwnedFd> {
    let root = root_of(target)?;
    let flags = PLACE | OFlags::DIRECTORY;
    acting_as(target, |acting| match calls::inside(acting, &root, TEMPORARY, flags, ResolveFlags::empty()) {
        // Old kernels and some sandboxes lack the call; then a link is not followed at all.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOSYS | Errno::PERM)) => {
            calls::pin(acting, &root, TEMPORARY, OFlags::DIRECTORY)
        }
        tmp => tmp,
    })?
}

/// The folder that the target works in.
pub(crate) fn working_folder_of(target: &Target) -> io::Result<OwnedFd> {
    procfs::place(target.proc("cwd"), OFlags::DIRECTORY)
}

/// Opens a folder inside a folder, no links followed, if it belongs to the target's user or root.
pub(crate) fn open_folder(target: &Target, folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let opened = acting_as(target, |acting| calls::folder(acting, folder, name))??;
    belongs_to(target, &fstat(&opened)?, name)?;
    Ok(opened)
}

/// Opens a regular file inside a folder for reading, no links followed, if it belongs to the
/// target's user or root.
pub(crate) fn open_file(target: &Target, folder: impl AsFd, name: &str) -> io::Result<File> {
    let opened =
        acting_as(target, |acting| calls::regular(acting, calls::pin(acting, folder, name, OFlags::empty())?, name));
    let (file, is) = opened??;
    belongs_to(target, &is, name)?;
    Ok(file)
}

/// What has a name in a folder, whatever it is; no link is followed, and nothing happens to it.
pub(crate) fn pin(target: &Target, folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    acting_as(target, |acting| calls::pin(acting, folder, name, OFlags::empty()))?
}

/// What is known of what has a name in a folder; `None` when nothing has.
pub(crate) fn stat(target: &Target, folder: impl AsFd, name: &str) -> io::Result<Option<Stat>> {
    acting_as(target, |acting| calls::stat(acting, folder, name))?
}

/// The names in a folder, as many as `most` at most; none when it cannot be read.
pub(crate) fn names(target: &Target, folder: impl AsFd, most: usize) -> Vec<String> {
    acting_as(target, |acting| calls::names(acting, folder, most)).unwrap_or_default()
}

/// Makes a file that is new and its owner's only.
pub(crate) fn create_file(target: &Target, folder: impl AsFd, name: &str) -> io::Result<File> {
    acting_as(target, |acting| calls::create_file(acting, folder, name))?
}

/// Makes a folder that is new and its owner's only.
pub(crate) fn create_folder(target: &Target, folder: impl AsFd, name: &str) -> io::Result<()> {
    acting_as(target, |acting| calls::create_folder(acting, folder, name))?
}

/// Takes a file's name away; a folder is left as it is.
pub(crate) fn remove_file(target: &Target, folder: impl AsFd, name: &str) -> io::Result<()> {
    acting_as(target, |acting| calls::remove_file(acting, folder, name))?
}

/// Removes the files in a folder, as many as `most` at most, and then the folder. Folders in it stay, and so does it then.
pub(crate) fn clear(target: &Target, parent: impl AsFd, folder: impl AsFd, name: &str, most: usize) -> io::Result<()> {
    acting_as(target, |acting| {
        for entry in calls::names(acting, &folder, most) {
            // Also meets `.` and `..`, which are not removed because they are folders.
            let _ = calls::remove_file(acting, &folder, &entry);
        }
        calls::remove_folder(acting, parent, name)
    })?
}

/// The bytes of a small file of the target by its name in the target's mount namespace. No part of the name may be a
/// link, and a longer file is refused.
pub(crate) fn small_file(target: &Target, path: &str, longest_bytes: u64) -> io::Result<Vec<u8>> {
    let (file, _) = by_path(target, path, ResolveFlags::NO_SYMLINKS)?;
    let mut bytes = Vec::new();
    // Its size may be anything by now: what is read counts.
    file.take(longest_bytes + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > longest_bytes {
        true => Err(io::Error::other(format!("{path} has more than {longest_bytes} bytes"))),
        false => Ok(bytes),
    }
}

/// A file as it was found, not open for reading yet.
pub(crate) struct Pinned {
    place: OwnedFd,
    name: String,
    /// What it is.
    pub(crate) is: Stat,
}

impl Pinned {
    fn new(place: OwnedFd, name: &str) -> io::Result<Pinned> {
        let is = fstat(&place)?;
        Ok(Pinned { place, name: name.to_owned(), is })
    }

    /// Opens it for reading, if the target could.
    pub(crate) fn open(self, target: &Target) -> io::Result<File> {
        Ok(acting_as(target, |acting| calls::regular(acting, self.place, &self.name))??.0)
    }
}

/// The file that `mapping` shows: that very one, or none.
pub(crate) fn mapped(target: &Target, mapping: &Mapping) -> Option<Pinned> {
    // The link leads to the file itself, also when its name is gone or of another mount namespace. It
    // needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    let range = &mapping.addresses;
    let link = target.proc(&format!("map_files/{:x}-{:x}", range.start, range.end));
    if let Ok(found) = procfs::place(link, OFlags::empty()) {
        return Pinned::new(found, &mapping.path).ok();
    }
    let root = root_of(target).ok()?;
    let path = Root::of(target);
    let path = path.inside(&mapping.path);
    let found = acting_as(target, |acting| calls::inside(acting, &root, path, PLACE, ResolveFlags::empty()));
    // By name only if the name still means the file that is mapped: names of another build would be wrong.
    Pinned::new(found.ok()?.ok()?, &mapping.path).ok().filter(|found| found.is.st_ino == mapping.file.inode)
}

/// The same, open for reading.
pub(crate) fn open_mapped(target: &Target, mapping: &Mapping) -> Option<File> {
    mapped(target, mapping)?.open(target).ok()
}

/// A file that the target writes, by the number of its descriptor: that very one, whatever its name means by now. A descriptor
/// that is not open for writing may be of a file that the target can do nothing with.
pub(crate) fn written(target: &Target, number: &str) -> io::Result<(File, Stat)> {
    let place = procfs::place(target.proc("fd").join(number), OFlags::empty())?;
    if !procfs::is_open_for_writing(target.proc("fdinfo").join(number)) {
        return Err(io::Error::other("the process does not have it open for writing"));
    }
    acting_as(target, |acting| calls::regular(acting, place, &format!("descriptor {number}")))?
}

/// A debug file by its name in the target's mount namespace; distributions lay links there.
pub(crate) fn by_name(target: &Target, path: &str) -> Option<File> {
    Some(by_path(target, path, ResolveFlags::empty()).ok()?.0)
}

fn by_path(target: &Target, path: &str, more: ResolveFlags) -> io::Result<(File, Stat)> {
    let root = root_of(target)?;
    acting_as(target, |acting| calls::regular(acting, calls::inside(acting, &root, path, PLACE, more)?, path))?
}

/// A debug file of the target's code by its name here.
pub(crate) fn by_own_name(target: &Target, path: &str) -> Option<File> {
    let opened = acting_as(target, |acting| calls::regular(acting, calls::pin_own(acting, path)?, path));
    Some(opened.ok()?.ok()?.0)
}

/// Refuses what belongs neither to the target's user nor to root.
pub(crate) fn belongs_to(target: &Target, is: &Stat, name: &str) -> io::Result<()> {
    match is.st_uid == target.uid || is.st_uid == 0 {
        true => Ok(()),
        false => {
            let says = format!("{name} belongs to user {}, not to the process's user {}", is.st_uid, target.uid);
            Err(io::Error::new(io::ErrorKind::PermissionDenied, says))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
