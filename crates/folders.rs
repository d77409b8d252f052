//! For build scripts: turns the folders found in a directory into modules and a list of them.
//!
//! Adding a reader or a cause is adding a folder; no central list is edited. A build script names this file by its path
//! and calls [`modules`], and its crate includes what that writes.
#![allow(dead_code, reason = "no build script needs all of it")]

use std::fs;
use std::path::{Path, PathBuf};

/// Makes cargo build a build script anew when another checkout uses the same target folder.
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");

/// The folder of the crate that is built. The build script is run again when another checkout uses the same target
/// folder, as what it writes has paths of this one.
///
/// # Panics
/// When it is not cargo that runs the build script.
pub(crate) fn root() -> PathBuf {
    println!("cargo::rerun-if-env-changed=FATHOM_CHECKOUT");
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("run by cargo"))
}

/// Folders directly below `parent` that contain `marker`, sorted by name. The build script is run
/// again when `parent` changes.
///
/// # Panics
/// When `parent` cannot be read: the build cannot go on.
pub(crate) fn holding(parent: &Path, marker: &str) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", parent.display());
    let entries = fs::read_dir(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
    let paths = entries.map(|entry| entry.unwrap_or_else(|e| panic!("{}: {e}", parent.display())).path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.join(marker).is_file()).collect();
    found.sort();
    found
}

/// Writes `OUT_DIR/<file>`: one `mod` per folder of `parent` that has a `mod.rs`, and
/// `pub(crate) static ALL: &[&TYPE]` of each module's `item`.
///
/// # Panics
/// When a folder cannot be read or the file cannot be written.
pub(crate) fn modules(parent: &Path, item: &str, item_type: &str, file: &str) {
    let mut code = String::new();
    let mut items = String::new();
    for folder in holding(parent, "mod.rs") {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("folder names are UTF-8").to_owned();
        let path = folder.join("mod.rs");
        code += &format!("#[path = {path:?}]\nmod {name};\n");
        items += &format!("    &{name}::{item},\n");
    }
    code +=
        &format!("/// Everything that was found, by name.\npub(crate) static ALL: &[&{item_type}] = &[\n{items}];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("run by cargo")).join(file);
    fs::write(&out, code).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}
