//! Any bytes as a flight recording: reading must end, and not panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fathom_fuzz::load(bytes, &["jfr"], None));
