//! The words of the schema, and the page that documents them.

#![allow(clippy::unwrap_used)]

use std::fs;

use fathom_evidence::kinds::{counter, only_grows};

#[test]
fn the_page_about_the_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema.md");
    let page = fathom_evidence::schema::page();
    if std::env::var_os("FATHOM_BLESS").is_some() {
        fs::write(path, &page).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/schema.md is not what the code says: run FATHOM_BLESS=1 cargo test -p fathom-evidence"
    );
}

#[test]
fn counters_that_grow_are_told_from_levels() {
    for (word, grows) in [
        (counter::COMPILE_COUNT, true),
        (counter::SYSTEM_CALLS_NS, true),
        (counter::BLOCK_STAGE_NS, true),
        (counter::HEAP_USED_BYTES, false),
        (counter::CPU_PROCESS_RATIO, false),
        (counter::DISK_IN_FLIGHT_COUNT, false),
        ("unheard_of", false),
    ] {
        assert_eq!(only_grows(word), grows, "{word}");
    }
}
