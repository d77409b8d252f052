//! Secrets are taken out of Flight Recorder files in place, and every reader still finds what was there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use fathom_readers::{LoadOptions, load_file, scrub};

/// The value of a property and a variable that the JVMs of `testdata/jfr` were given.
const CANARY: &[u8] = b"not-for-you";

fn holds_it(path: &Path) -> bool {
    fs::read(path).unwrap().windows(CANARY.len()).any(|window| window == CANARY)
}

#[test]
fn a_scrubbed_file_tells_nothing_and_is_read_like_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr");
    let mut told = 0;
    for entry in fs::read_dir(testdata).unwrap() {
        let original = entry.unwrap().path();
        if original.extension().is_none_or(|ending| ending != "jfr") {
            continue;
        }
        let copy = folder.path().join(original.file_name().unwrap());
        fs::copy(&original, &copy).unwrap();
        told += usize::from(holds_it(&original));
        scrub(&copy).unwrap();
        assert!(!holds_it(&copy), "{}", original.display());
        let read = |path: &Path| load_file(path, &LoadOptions::default()).unwrap();
        assert_eq!(read(&copy).row_counts(), read(&original).row_counts(), "{}", original.display());
    }
    assert!(told >= 4, "only {told} files have a secret to hide");
}
