//! Code of the target, from its memory or from the file that is mapped there.

use std::fs::File;
use std::os::unix::fs::FileExt;

use fathom_symbols::elf::LONGEST_CALL_BYTES;
use fathom_symbols::maps::{Mapping, Mappings};

use crate::Target;
use crate::hostile_files::open_mapped;
use crate::procfs;

/// The code before `end`, as much as a call may take and the mapping has: from the target's memory, or from the file,
/// which more recorders may read.
pub(super) fn code_before(target: &Target, mappings: &Mappings, end: u64) -> Option<Vec<u8>> {
    let mapping = mappings.find(end.checked_sub(1)?).filter(|mapping| mapping.is_executable)?;
    let start = end.saturating_sub(LONGEST_CALL_BYTES as u64).max(mapping.addresses.start);
    let size_bytes = (end - start) as usize;
    let in_memory = || exactly(&of(target)?, start, size_bytes);
    in_memory().or_else(|| code_in_file(target, mapping, start, size_bytes))
}

/// The code at an address, from the file that is mapped there.
pub(super) fn code_in_file(target: &Target, mapping: &Mapping, start: u64, size_bytes: usize) -> Option<Vec<u8>> {
    exactly(&open_mapped(target, mapping)?, mapping.offset_of(start), size_bytes)
}

fn exactly(file: &File, offset: u64, size_bytes: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size_bytes];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

/// Memory from an address on, up to a number of bytes or to where nothing is mapped.
pub(super) fn as_far_as_there_is(file: &File, start: u64, most_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; most_bytes];
    let mut read_bytes = 0;
    while let Ok(more @ 1..) = file.read_at(&mut bytes[read_bytes..], start.saturating_add(read_bytes as u64)) {
        read_bytes += more;
    }
    bytes.truncate(read_bytes);
    bytes
}

/// The target's memory, by address.
pub(super) fn of(target: &Target) -> Option<File> {
    procfs::file(target.proc("mem")).ok()
}
