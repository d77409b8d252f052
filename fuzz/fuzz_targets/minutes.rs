//! Any bytes as the journal of minutes that a killed service left: reading must end, and not panic.

#![no_main]

use std::cell::RefCell;
use std::fs;

use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(TempDir::new_in("/dev/shm").expect("a folder in memory"));
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    FOLDER.with_borrow(|folder| {
        fs::write(folder.path().join("journal.jsonl"), bytes).expect("the file can be written");
        let rows = fathom_watch::minutes::recent(folder.path());
        assert!(rows.len() <= bytes.split(|byte| *byte == b'\n').count(), "more rows than lines");
    });
});
