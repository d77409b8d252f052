//! Finds the collectors, every folder of `src` with a `mod.rs`, and compiles all BPF programs, `NAME/NAME.bpf.c`, to
//! `NAME.bpf.o`. Builds in the async-profiler that `.ci/async-profiler` put under `target` of the workspace; without it
//! the program lacks only that collector.

#[path = "../folders.rs"]
mod folders;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use libbpf_rs::Linker;
use libbpf_rs::libbpf_sys::API_HEADERS;

fn main() {
    let root = folders::root();
    let sources = root.join("src");
    folders::modules(&sources, "COLLECTOR", "dyn crate::Collector", "collectors.rs");
    println!("cargo::rerun-if-changed={}", sources.join("bpf").display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("run by cargo"));
    compile(&programs(&sources), &out);
    bundle_async_profiler(&root, &out);
}

/// The sources of the BPF programs, by the names of their collectors.
fn programs(sources: &Path) -> Vec<(String, PathBuf)> {
    let folders = fs::read_dir(sources).unwrap_or_else(|error| panic!("{}: {error}", sources.display()));
    let program = |folder: PathBuf| {
        let name = folder.file_name()?.to_str().expect("folder names are UTF-8").to_owned();
        let source = folder.join(format!("{name}.bpf.c"));
        source.is_file().then_some((name, source))
    };
    folders.flatten().filter_map(|entry| program(entry.path())).collect()
}

/// Writes `async_profiler.rs`: the library for the machine that is built for, or none.
fn bundle_async_profiler(root: &Path, out: &Path) {
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
    let out = out.join("async_profiler.rs");
    let code = format!("/// The library as it is released.\nconst LIBRARY: Option<&[u8]> = {expression};\n");
    fs::write(&out, code).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// A program that clang is at work on.
struct Compiling {
    name: String,
    unlinked: PathBuf,
    clang: Child,
}

/// Compiles each to `NAME.bpf.o`, all at the same time.
fn compile(sources: &[(String, PathBuf)], out: &Path) {
    let headers = write_headers(out);
    let begun: Vec<Compiling> = sources.iter().map(|(name, source)| begin(name, source, &headers, out)).collect();
    for one in begun {
        link(one, out);
    }
}

/// The headers of libbpf, as it is linked.
fn write_headers(out: &Path) -> PathBuf {
    let include = out.join("include");
    let folder = include.join("bpf");
    let written = fs::create_dir_all(&folder)
        .and_then(|()| API_HEADERS.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text)));
    written.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    include
}

fn begin(name: &str, source: &Path, headers: &Path, out: &Path) -> Compiling {
    // With its own headers, if it has any.
    println!("cargo::rerun-if-changed={}", source.parent().unwrap_or(source).display());
    let unlinked = out.join(format!("{name}.unlinked.o"));
    let mut clang = Command::new("clang");
    clang.args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    // The kernel has no canary for programs.
    clang.arg("-fno-stack-protector");
    // The same object wherever the checkout is: its line table names files.
    clang.arg(format!("-ffile-prefix-map={}=.", folders::root().display()));
    clang.arg(format!("-D__TARGET_ARCH_{}", architecture())).arg("-I").arg(headers);
    clang.arg("-c").arg(source).arg("-o").arg(&unlinked);
    let clang = clang.spawn().unwrap_or_else(|error| panic!("clang: {error}: is it installed?"));
    Compiling { name: name.to_owned(), unlinked, clang }
}

/// Linking alone takes the debugger's tables out, which name files of this machine.
fn link(mut compiling: Compiling, out: &Path) {
    let name = &compiling.name;
    let ended = compiling.clang.wait().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(ended.success(), "clang does not compile {name}, as it says above");
    let linked = Linker::new(out.join(format!("{name}.bpf.o"))).and_then(|mut linker| {
        linker.add_file(&compiling.unlinked)?;
        linker.link()
    });
    linked.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// The machine that is built for, as headers of libbpf call it.
fn architecture() -> String {
    match env::var("CARGO_CFG_TARGET_ARCH").expect("run by cargo").as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        other => other.to_owned(),
    }
}
