//! Opens files of the target. The target chooses their names and may replace them meanwhile: a file
//! is opened without effect first, looked at, and only then for reading.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fathom_symbols::maps::Mapping;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};

use crate::{Refusal, Target};

/// A perf map has some 100 bytes per compiled method.
const LARGEST_PERF_MAP_BYTES: u64 = 64 << 20;

/// The file that `mapping` shows: that very one, or none.
pub(super) fn mapped(target: &Target, mapping: &Mapping) -> Option<(File, Stat)> {
    // The link leads to the file itself, also when its name is gone or of another mount namespace. It
    // needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    let range = &mapping.addresses;
    let link = target.proc(&format!("map_files/{:x}-{:x}", range.start, range.end));
    if let Ok(found) = rustix::fs::open(&link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        return regular(found);
    }
    let found = inside(target, &mapping.path, ResolveFlags::empty())?;
    // By name only if the name still means the file that is mapped: names of another build would be wrong.
    regular(found).filter(|(_, stat)| stat.st_ino == mapping.file.inode)
}

/// A file by its name in the target's mount namespace.
pub(super) fn by_name(target: &Target, path: &str) -> Option<File> {
    regular(inside(target, path, ResolveFlags::empty())?).map(|(file, _)| file)
}

/// A file by its name here.
pub(super) fn by_own_name(path: &str) -> Option<File> {
    regular(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?).map(|(file, _)| file)
}

/// The text of a perf map, which lies in a folder that everybody can write to: it must be the
/// target's (or root's) own, reached through no link.
pub(super) fn perf_map(target: &Target, path: &str) -> Result<Vec<u8>, Refusal> {
    let refuse = |why: &str| Refusal::new(format!("the perf map {path} {why}"), "");
    let found =
        inside(target, path, ResolveFlags::NO_SYMLINKS).ok_or_else(|| refuse("is not there, or a link leads to it"))?;
    let (file, stat) = regular(found).ok_or_else(|| refuse("is no regular file that can be read"))?;
    if stat.st_uid != target.uid && stat.st_uid != 0 {
        return Err(refuse(&format!("belongs to user {}, not to the JVM's user", stat.st_uid)));
    }
    let mut text = Vec::new();
    let read = file.take(LARGEST_PERF_MAP_BYTES).read_to_end(&mut text);
    read.map_err(|error| refuse(&format!("cannot be read: {error}")))?;
    Ok(text)
}

/// The target's memory, by address.
pub(super) fn memory(target: &Target) -> Option<File> {
    File::open(target.proc("mem")).ok()
}

/// Looks up a path as if the target's root were ours: neither `..` nor a link leads out of it.
fn inside(target: &Target, path: &str, resolve: ResolveFlags) -> Option<OwnedFd> {
    let root = rustix::fs::open(target.proc("root"), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let resolve = resolve | ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat2(root.as_ref().ok()?.as_fd(), path, flags, Mode::empty(), resolve) {
            Ok(found) => return Some(found),
            // A name changed while it was looked up.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Opens what was found for reading, if it is a regular file.
fn regular(found: OwnedFd) -> Option<(File, Stat)> {
    let stat = rustix::fs::fstat(&found).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let file = File::open(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
    Some((file, stat))
}
