//! Any bytes as a collector's log: reading must end, and not panic.

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::load(bytes, &["gc_log"], None);
}
