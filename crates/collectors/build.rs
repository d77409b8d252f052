//! Finds the collectors, every folder of `src` with a `mod.rs`, and compiles all BPF programs,
//! `NAME/NAME.bpf.c`, to `NAME.bpf.o`. Builds in the async-profiler that `.ci/async-profiler` put under
//! `target` of the workspace; without it the program is complete but for that collector.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let root = fathom_scan::root();
    let sources = root.join("src");
    fathom_scan::modules(&sources, "COLLECTOR", "dyn crate::Collector", "collectors.rs");
    println!("cargo::rerun-if-changed={}", sources.join("bpf").display());
    for folder in std::fs::read_dir(&sources).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("folder names are UTF-8");
        let source = folder.join(format!("{name}.bpf.c"));
        if source.is_file() {
            compile(&source, name);
        }
    }
    bundle_async_profiler(&root);
}

/// Writes `async_profiler.rs`: the library for the machine that is built for, or none.
fn bundle_async_profiler(root: &Path) {
    let folder = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "linux-x64",
        Ok("aarch64") => "linux-arm64",
        _ => "none",
    };
    let library = root.join("../../target/async-profiler").join(folder).join("libasyncProfiler.so");
    println!("cargo::rerun-if-changed={}", library.display());
    let expression = match library.is_file() {
        true => format!("Some(include_bytes!({library:?}))"),
        false => {
            println!(
                "cargo::warning=built WITHOUT async-profiler, CPU samples will come from JFR: run `make deps` and build again ({} is not there)",
                library.display()
            );
            "None".to_owned()
        }
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("run by cargo")).join("async_profiler.rs");
    let code = format!("/// The library as it is released.\nconst LIBRARY: Option<&[u8]> = {expression};\n");
    std::fs::write(&out, code).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

fn compile(source: &Path, name: &str) {
    // With its own headers, if it has any.
    println!("cargo::rerun-if-changed={}", source.parent().unwrap_or(source).display());
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("run by cargo")).join(format!("{name}.bpf.o"));
    let mut builder = SkeletonBuilder::new();
    // The same object wherever the checkout is: its line table names files.
    let prefix = format!("-ffile-prefix-map={}=.", fathom_scan::root().display());
    builder.source(source).obj(object).clang_args(["-Wall", "-Werror", "-mcpu=v3", &prefix]);
    builder.build().unwrap_or_else(|error| panic!("{error:#}: is clang installed?"));
}
