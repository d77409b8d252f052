//! Any bytes as a flight recording: reading must end, and not panic.

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::load(bytes, &["jfr"], None);
}
