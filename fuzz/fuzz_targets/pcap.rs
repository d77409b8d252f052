//! Any bytes as a file of this format: reading must end, and not panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fathom_fuzz::load(bytes, &["pcap"], None));
