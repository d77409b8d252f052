//! Finds the causes: every folder of `catalog` with a `mod.rs`.

#[path = "../folders.rs"]
mod folders;

fn main() {
    folders::modules(&folders::root().join("catalog"), "CAUSE", "crate::Cause", "catalog.rs");
}
