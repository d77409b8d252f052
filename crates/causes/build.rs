//! Finds the causes: every folder of `catalog` with a `mod.rs`.

fn main() {
    fathom_scan::modules(&fathom_scan::root().join("catalog"), "CAUSE", "crate::Cause", "catalog.rs");
}
