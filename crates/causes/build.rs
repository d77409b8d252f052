//! Finds the causes: every folder of `catalog` with a `mod.rs`.

use std::path::Path;

fn main() {
    let catalog = format!("{}/catalog", env!("CARGO_MANIFEST_DIR"));
    fathom_scan::modules(Path::new(&catalog), "CAUSE", "crate::Cause", "catalog.rs");
}
