//! Finds the formats: every folder of `src` with a `mod.rs`.

#[path = "../folders.rs"]
mod folders;

fn main() {
    folders::modules(&folders::root().join("src"), "READER", "dyn crate::Reader", "readers.rs");
}
