//! Any bytes as a collector's log and as latencies of requests: reading must end, and not panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fathom_fuzz::load(bytes, &["gc_log", "latency"]));
