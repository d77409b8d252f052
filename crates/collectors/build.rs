//! Finds the collectors, every folder of `src` with a `mod.rs`, and compiles their BPF programs,
//! `NAME/NAME.bpf.c`, to `NAME.bpf.o`.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let sources = PathBuf::from(format!("{}/src", env!("CARGO_MANIFEST_DIR")));
    fathom_scan::modules(&sources, "COLLECTOR", "dyn crate::Collector", "collectors.rs");
    println!("cargo::rerun-if-changed={}", sources.join("bpf").display());
    for folder in fathom_scan::folders(&sources, "mod.rs") {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("folder names are UTF-8");
        let source = folder.join(format!("{name}.bpf.c"));
        if source.is_file() {
            compile(&source, name);
        }
    }
}

fn compile(source: &Path, name: &str) {
    println!("cargo::rerun-if-changed={}", source.display());
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("run by cargo")).join(format!("{name}.bpf.o"));
    let mut builder = SkeletonBuilder::new();
    builder.source(source).obj(object).clang_args(["-Wall", "-Werror", "-mcpu=v3"]);
    builder.build().unwrap_or_else(|error| panic!("{error:#}: is clang installed?"));
}
