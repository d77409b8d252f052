//! Secrets are removed from Flight Recorder files in place, and every reader still finds the rest.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use fathom_readers::{LoadOptions, load_file, scrub};

/// The value of a property and a variable that the JVMs of `testdata/jfr` were given.
const CANARY: &[u8] = b"not-for-you";

fn holds_it(path: &Path) -> bool {
    holds(path, CANARY)
}

fn holds(path: &Path, text: &[u8]) -> bool {
    fs::read(path).unwrap().windows(text.len()).any(|window| window == text)
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

/// `testdata/secrets/Own.java`: texts that are in the pool, behind a number that is no compressed integer.
#[test]
fn an_applications_own_events_and_threads_tell_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/secrets/own_events.jfr");
    let copy = folder.path().join("own_events.jfr");
    fs::copy(&original, &copy).unwrap();
    for secret in ["Tr0ub4dor", "anna.schmidt"] {
        assert!(holds(&original, secret.as_bytes()), "{secret}");
    }
    assert!(scrub(&copy).unwrap() > 0);
    for (text, is_there) in [
        ("Tr0ub4dor", false),
        ("anna.schmidt", false),
        ("mysql -u shop --password=[masked]", true),
        ("cart # of [masked]", true),
        ("a text that stays as it is", true),
    ] {
        assert_eq!(holds(&copy, text.as_bytes()), is_there, "{text}");
    }
    let read = |path: &Path| load_file(path, &LoadOptions::default()).unwrap();
    assert_eq!(read(&copy).row_counts(), read(&original).row_counts());
    assert_eq!(fs::metadata(&copy).unwrap().len(), fs::metadata(&original).unwrap().len());
}
