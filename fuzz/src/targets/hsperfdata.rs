//! Any bytes as the file of a JVM's counters, and as a later state of one: reading must end, and not panic.
//!
//! The collectors need the kernel, but their parsers do not and are included as source files.

#[allow(dead_code)]
#[path = "../../../crates/collectors/src/jvm_counters/parse.rs"]
mod parse;

use parse::{Layout, Place, entries_of};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(layout) = Layout::parse(bytes) else { return };
    // The file may be shorter by the time its values are read.
    for now in [bytes, &bytes[..bytes.len() / 2]] {
        entries_of(&layout, now);
        for name in layout.names() {
            match layout.place(name) {
                Some(Place::Number { at, .. }) => drop(layout.number_at(now, at)),
                Some(Place::Text(..)) => drop(layout.text(now, name)),
                None => unreachable!("a name without a place"),
            }
        }
    }
}
