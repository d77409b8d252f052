//! Puts every lab into the program: its declaration and its sources, so that a lab runs on a machine that has a JDK
//! and the program but not the project's folder.

#[path = "../crates/folders.rs"]
mod folders;

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with this file is a lab; next to it lie its sources.
const DECLARATION: &str = "lab.json";

fn main() {
    let here = folders::root();
    let catalog = here.join("../crates/causes/catalog");
    let of_causes = folders::holding(&catalog, &format!("lab/{DECLARATION}"));
    let mut labs: Vec<PathBuf> = of_causes.iter().map(|cause| cause.join("lab")).collect();
    labs.extend(folders::holding(&here.join("programs"), DECLARATION));

    let mut code = String::from("pub(crate) static LABS: &[Embedded] = &[\n");
    for lab in &labs {
        let declaration = lab.join(DECLARATION);
        let of_cause = lab.starts_with(&catalog);
        writeln!(code, "    Embedded {{ declaration: include_str!({declaration:?}), of_cause: {of_cause}, sources: &[")
            .expect("to memory");
        code += &embedded_sources(lab);
        code += "    ] },\n";
    }
    code += "];\n\npub(crate) static SHARED_SOURCES: &[Source] = &[\n";
    code += &embedded_sources(&here.join("java/fathomlab"));
    code += &embedded_sources(&here.join("native"));
    code += "];\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("run by cargo")).join("embedded.rs");
    fs::write(out, code).expect("OUT_DIR can be written");
}

/// One `Source` literal per source file of the folder, sorted by name.
fn embedded_sources(folder: &Path) -> String {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|e| ["java", "c"].iter().any(|known| e == *known));
    let mut files: Vec<PathBuf> = paths.filter(is_source).collect();
    files.sort();
    let mut code = String::new();
    for file in files {
        let name = file.file_name().expect("read_dir names files").to_string_lossy().into_owned();
        writeln!(code, "        Source {{ name: {name:?}, text: include_str!({file:?}) }},").expect("to memory");
    }
    code
}
