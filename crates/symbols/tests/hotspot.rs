//! A library that exports what `libjvm.so` does, read as a JVM's memory is.
#![allow(clippy::unwrap_used, reason = "a test fails where its machinery does")]

mod common;

use std::borrow::Cow;

use common::{compile, image};
use fathom_symbols::elf::ReadAt;
use fathom_symbols::hotspot::HotSpot;

/// Where the first byte of the file would be in memory, and a place of the file that is mapped.
const BASE: u64 = 0x40_0000;
const MAPPED: u64 = 0x1000;
/// One segment, whose pointers stand in the file as they are in memory.
const FLAGS: [&str; 7] = [
    "-O1",
    "-fno-zero-initialized-in-bss",
    "-shared",
    "-fPIC",
    "-nostdlib",
    "-fvisibility=hidden",
    "-Wl,-N,-z,pack-relative-relocs,-z,norelro,--build-id=none",
];

struct Memory(Vec<u8>);

impl ReadAt for Memory {
    fn read_at(&self, address: u64, size_bytes: usize) -> Option<Cow<'_, [u8]>> {
        let from = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.0.get(from..from.checked_add(size_bytes)?).map(Cow::Borrowed)
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn methods_are_found_with_those_that_were_compiled_into_them() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "jvm.c", "libjvm.so", &FLAGS);
    let memory = Memory(std::fs::read(&library).unwrap());
    let mut hotspot = HotSpot::of(&memory.0, (BASE + MAPPED, MAPPED), &memory).unwrap();
    hotspot.find_heaps(&memory);
    let places = (BASE..BASE + memory.0.len() as u64).filter(|address| hotspot.may_be_code(*address));
    let places: Vec<u64> = places.collect();
    let mut found: Vec<_> = places.iter().filter_map(|address| hotspot.code_at(*address, &memory)).collect();
    found.dedup();
    let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["Interpreter", "shop.Main.run"]);
    assert_eq!(found[1].frame_bytes, 32);
    assert_eq!(hotspot.inlined(found[1].start + 16, &memory), ["shop.Main.price"]);
    assert!(image(&library).resolve(found[1].start).is_none(), "code of the JVM is no function of the library");
}
