//! Two checkouts that are built in the same target folder never get each other's code, however old their files are.
#![allow(clippy::unwrap_used, reason = "a test fails where its machinery does")]

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

const MANIFEST: &str = r#"
[workspace]
[package]
name = "found"
version = "0.1.0"
edition = "2024"
[dependencies]
leaf = { path = "leaf" }
"#;

const LEAF_MANIFEST: &str = r#"
[package]
name = "leaf"
version = "0.1.0"
edition = "2024"
"#;

/// A crate that depends on no other, with the line that `.ci/checks/layers` looks for.
const LEAF: &str = r#"
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");
pub const OF: &str = "leaf of NAME";
"#;

const BUILD: &str = r#"
#[path = "folders.rs"]
mod folders;
fn main() {
    folders::modules(&folders::root().join("src"), "ITEM", "crate::Item", "items.rs");
}
"#;

const MAIN: &str = r#"
pub(crate) struct Item(pub(crate) &'static str);
include!(concat!(env!("OUT_DIR"), "/items.rs"));
fn main() {
    println!("{}, {}, main of NAME", ALL[0].0, leaf::OF);
}
"#;

const MODULE: &str = r#"pub(crate) static ITEM: crate::Item = crate::Item("module of NAME");"#;

/// Puts a file into a checkout, older than anything that is built.
fn put(checkout: &Path, path: &str, text: &str) {
    let file = checkout.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
}

/// A small project that finds its modules as this one does, with this one's settings.
fn make(checkout: &Path, name: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(here.join(path)).unwrap();
    put(checkout, "Cargo.toml", MANIFEST);
    put(checkout, ".cargo/config.toml", &read("../../.cargo/config.toml"));
    put(checkout, "build.rs", BUILD);
    put(checkout, "src/main.rs", &MAIN.replace("NAME", name));
    put(checkout, "src/module/mod.rs", &MODULE.replace("NAME", name));
    put(checkout, "leaf/Cargo.toml", LEAF_MANIFEST);
    put(checkout, "leaf/src/lib.rs", &LEAF.replace("NAME", name));
    put(checkout, "folders.rs", &read("../folders.rs"));
}

#[test]
fn each_checkout_gets_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        make(&folder.path().join(name), name);
    }
    for name in ["one", "two", "one", "two"] {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline"]).current_dir(folder.path().join(name));
        let output = cargo.env("CARGO_TARGET_DIR", folder.path().join("target")).output().unwrap();
        let says = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            says,
            format!("module of {name}, leaf of {name}, main of {name}\n"),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
