//! Any bytes as a JFR file: reading must end, and not panic.
//!
//! `cargo +nightly fuzz run jfr fuzz/corpus/jfr testdata/jfr -- -max_len=400000 -timeout=10`

#![no_main]

use std::cell::RefCell;
use std::io::{Seek, Write};

use fathom_readers::{LoadOptions, readers};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new_in("/dev/shm").expect("a file in memory"));
}

fuzz_target!(|bytes: &[u8]| {
    FILE.with_borrow_mut(|file| {
        file.as_file().set_len(0).expect("the file can be cut");
        file.rewind().expect("the file can be rewound");
        file.write_all(bytes).expect("the file can be written");
        let files = [file.path().to_owned()];
        for reader in readers().iter().filter(|reader| reader.name() == "jfr") {
            let _ = reader.load(&files, &LoadOptions::default());
        }
    });
});
