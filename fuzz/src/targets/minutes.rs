//! Any bytes as the journal of minutes that a killed service left: reading must end, and not panic.

use std::fs;

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::in_folder(|folder| {
        fs::write(folder.join("journal.jsonl"), bytes).expect("the file can be written");
        let rows = fathom_watch::minutes::recent(folder);
        assert!(rows.len() <= bytes.split(|byte| *byte == b'\n').count(), "more rows than lines");
    });
}
