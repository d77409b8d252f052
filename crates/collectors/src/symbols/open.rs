//! Opens files of the target. The target chooses their names and may replace them meanwhile: a file
//! is opened without effect first, looked at, and only then for reading.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use fathom_symbols::elf::LONGEST_CALL_BYTES;
use fathom_symbols::maps::{Mapping, Mappings};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};

use crate::Target;

/// The file that `mapping` shows: that very one, or none.
pub(crate) fn mapped(target: &Target, mapping: &Mapping) -> Option<(File, Stat)> {
    // The link leads to the file itself, also when its name is gone or of another mount namespace. It
    // needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    let range = &mapping.addresses;
    let link = target.proc(&format!("map_files/{:x}-{:x}", range.start, range.end));
    if let Ok(found) = rustix::fs::open(&link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        return regular(found);
    }
    let found = inside(target, &mapping.path)?;
    // By name only if the name still means the file that is mapped: names of another build would be wrong.
    regular(found).filter(|(_, stat)| stat.st_ino == mapping.file.inode)
}

/// A file by its name in the target's mount namespace.
pub(super) fn by_name(target: &Target, path: &str) -> Option<File> {
    regular(inside(target, path)?).map(|(file, _)| file)
}

/// A file by its name here.
pub(super) fn by_own_name(path: &str) -> Option<File> {
    regular(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?).map(|(file, _)| file)
}

/// The code before `end`, as much as a call may take and the mapping has: from the target's memory, or from the file,
/// which more recorders may read.
pub(super) fn code_before(target: &Target, mappings: &Mappings, end: u64) -> Option<Vec<u8>> {
    let mapping = mappings.find(end.checked_sub(1)?).filter(|mapping| mapping.is_executable)?;
    let start = end.saturating_sub(LONGEST_CALL_BYTES as u64).max(mapping.addresses.start);
    let size_bytes = (end - start) as usize;
    let in_memory = || exactly(&memory(target)?, start, size_bytes);
    in_memory().or_else(|| code_in_file(target, mapping, start, size_bytes))
}

/// The code at an address, from the file that is mapped there.
pub(super) fn code_in_file(target: &Target, mapping: &Mapping, start: u64, size_bytes: usize) -> Option<Vec<u8>> {
    exactly(&mapped(target, mapping)?.0, mapping.offset_of(start), size_bytes)
}

fn exactly(file: &File, offset: u64, size_bytes: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size_bytes];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

/// The target's memory, by address.
pub(super) fn memory(target: &Target) -> Option<File> {
    File::open(target.proc("mem")).ok()
}

/// Looks up a path as if the target's root were ours: neither `..` nor a link leads out of it.
fn inside(target: &Target, path: &str) -> Option<OwnedFd> {
    let root = rustix::fs::open(target.proc("root"), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
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
