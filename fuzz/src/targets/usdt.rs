//! Any bytes as the notes of a library that say where its probes are: reading must end, and not panic.
//!
//! The file around them is built here, because random bytes rarely form a valid file; `symbols` takes any file.

use fathom_symbols::elf::probes_of;

const NAMES: &[u8] = b"\0.shstrtab\0.note.stapsdt\0";
const HEADER_BYTES: u64 = 64;
const SEGMENT_BYTES: u64 = 56;
const SECTIONS: u64 = 3;

pub(crate) fn run(notes: &[u8]) {
    let file = library(notes);
    if let Ok(probes) = probes_of(&file.as_slice()) {
        assert!(probes.len() <= notes.len(), "more probes than notes");
    }
}

/// A library for x86-64 with these notes and nothing else.
fn library(notes: &[u8]) -> Vec<u8> {
    let names_at = HEADER_BYTES + SEGMENT_BYTES;
    let notes_at = names_at + NAMES.len() as u64;
    let table_at = notes_at + notes.len() as u64;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // A shared object for x86-64.
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    for place in [0, HEADER_BYTES, table_at] {
        file.extend(place.to_le_bytes());
    }
    file.extend(u32::to_le_bytes(0));
    for number in [HEADER_BYTES, SEGMENT_BYTES, 1, 64, SECTIONS, 1] {
        file.extend((number as u16).to_le_bytes());
    }
    // All of it is loaded, to be read and executed.
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for number in [0, 0, 0, table_at, table_at, 0x1000] {
        file.extend(u64::to_le_bytes(number));
    }
    file.extend(NAMES);
    file.extend(notes);
    // Name, type, offset and size of each section: none, names, notes.
    for (name, kind, at, bytes) in [(0, 0, 0, 0), (1, 3, names_at, NAMES.len()), (11, 7, notes_at, notes.len())] {
        file.extend(u32::to_le_bytes(name));
        file.extend(u32::to_le_bytes(kind));
        for number in [0, 0, at, bytes as u64, 0, 1, 0] {
            file.extend(number.to_le_bytes());
        }
    }
    file
}
