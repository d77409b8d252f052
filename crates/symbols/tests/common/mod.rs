//! What the tests share: programs compiled here, tools of binutils, stopped processes.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use fathom_symbols::elf::Image;
use fathom_symbols::maps::Mappings;
use fathom_symbols::process::{Process, image_id};

/// Files of this machine that are read in the tests, as far as they are there.
pub(crate) fn system_files() -> Vec<PathBuf> {
    let candidates = [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/aarch64-linux-gnu/libc.so.6",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
        "/usr/lib/jvm/java-17-openjdk-amd64/lib/libjava.so",
        "/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so",
        "/usr/lib/jvm/temurin-25-jdk-amd64/lib/libnio.so",
        "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java",
    ];
    let this = std::env::current_exe().unwrap();
    candidates.iter().map(PathBuf::from).filter(|path| path.exists()).chain([this]).collect()
}

/// Reads an image.
pub(crate) fn image(path: &Path) -> Image {
    Image::read(&std::fs::read(path).unwrap()).unwrap()
}

/// What a tool prints; the test fails when the tool does.
pub(crate) fn output(program: &str, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output();
    let run = run.unwrap_or_else(|error| panic!("{program}, which the tests need: {error}"));
    assert!(run.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// Compiles `source` of `tests/programs` into `folder`.
pub(crate) fn compile(folder: &Path, source: &str, target: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let target = folder.join(target);
    let paths = [source.to_str().unwrap(), "-o", target.to_str().unwrap()];
    output("gcc", &[&paths[..], flags].concat());
    target
}

/// Takes away the section headers, as `sstrip` does.
pub(crate) fn without_section_headers(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    file[0x28..0x30].fill(0); // e_shoff
    file[0x3c..0x40].fill(0); // e_shnum, e_shstrndx
    file
}

/// A process as its files on disk show it.
pub(crate) fn process(pid: u32) -> Process {
    let maps = Mappings::parse(&std::fs::read(format!("/proc/{pid}/maps")).unwrap());
    let mut process = Process::new(maps.clone());
    for mapping in maps.iter().filter(|mapping| mapping.is_executable) {
        let Some(file) = image_id(mapping).filter(|file| process.image(*file).is_none()) else { continue };
        let bytes = if mapping.has_file() {
            std::fs::read(&*mapping.path).unwrap()
        } else {
            memory(pid, mapping.addresses.clone())
        };
        process.set_image(file, Some(Arc::new(Image::read(&bytes).unwrap())));
    }
    process
}

/// Memory of a process, as much as there is.
pub(crate) fn memory(pid: u32, addresses: std::ops::Range<u64>) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut bytes = vec![0; (addresses.end - addresses.start) as usize];
    let mut read = 0;
    while read < bytes.len() {
        match memory.read_at(&mut bytes[read..], addresses.start + read as u64) {
            Ok(more) if more > 0 => read += more,
            _ => break,
        }
    }
    bytes.truncate(read);
    bytes
}
