//! Any bytes as a collector's log: reading must end, and not panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fathom_fuzz::load(bytes, &["gc_log"], None));
