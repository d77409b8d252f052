//! Any bytes as a flight recording: reading must end, and not panic.

pub fn run(bytes: &[u8]) {
    fathom_fuzz::load(bytes, &["jfr"], None);
}
