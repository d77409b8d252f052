//! Finds the formats: every folder of `src` with a `mod.rs`.

fn main() {
    fathom_scan::modules(&fathom_scan::root().join("src"), "READER", "dyn crate::Reader", "readers.rs");
}
