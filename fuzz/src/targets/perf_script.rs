//! Any bytes as a file of this format: reading must end, and not panic.

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::load(bytes, &["perf_script"], None);
}
