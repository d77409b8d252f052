//! Finds the collectors: every folder of `src` with a `mod.rs`.

use std::path::Path;

fn main() {
    fathom_scan::modules(
        Path::new(&format!("{}/src", env!("CARGO_MANIFEST_DIR"))),
        "COLLECTOR",
        "dyn crate::Collector",
        "collectors.rs",
    );
}
