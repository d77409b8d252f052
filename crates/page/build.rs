//! Embeds the page that `make build` left in `ui/`, or a line that says how to build it. Cargo never runs npm.

#[path = "../folders.rs"]
mod folders;

use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the build of the page leaves its files: those that are served, and those of the single file.
const SERVED: &str = "../../ui/dist";
const SINGLE: &str = "../../ui/dist-single";

/// What stands for the page where it was not built.
const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Fathom</title>\
    <p>This fathom was built without its page: run <code>make build</code>.</p><!--FATHOM-DATA-->\n";

fn main() -> io::Result<()> {
    let root = folders::root();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let fallback = out.join("not_built.html");
    fs::write(&fallback, NOT_BUILT)?;
    let mut served = files(&root.join(SERVED))?;
    if !served.iter().any(|(name, _)| name == "index.html") {
        served = vec![("index.html".to_owned(), fallback.clone())];
    }
    let single = root.join(SINGLE).join("index.html");
    let single = if single.is_file() { single } else { fallback };
    let mut code = String::from("/// The files of the served page by name.\nstatic SERVED: &[(&str, &[u8])] = &[\n");
    for (name, path) in served {
        let _ = writeln!(code, "    ({name:?}, include_bytes!({path:?})),");
    }
    code += "];\n";
    fs::write(out.join("served.rs"), code)?;
    let code = format!("/// The page that is one file.\nstatic SINGLE: &str = include_str!({single:?});\n");
    fs::write(out.join("single.rs"), code)?;
    // The folders are part of the sources, so that they are there to be watched before the page is built.
    println!("cargo::rerun-if-changed={SERVED}");
    println!("cargo::rerun-if-changed={SINGLE}");
    Ok(())
}

/// The files in a folder and its folders by their names there, sorted; hidden ones are not the page's.
fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = pending.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type()? {
                _ if name.starts_with('.') => {}
                kind if kind.is_dir() => pending.push((format!("{prefix}{name}/"), entry.path())),
                _ => found.push((format!("{prefix}{name}"), entry.path())),
            }
        }
    }
    found.sort();
    Ok(found)
}
