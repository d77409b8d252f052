//! Any bytes as the library of a JVM and as all of its memory: looking for Java code in it must end, and not panic.
//!
//! The seed is a library with the symbols that JDK 17 exports for debuggers, and with a code heap that holds the
//! interpreter and a method into which another was inlined. It is linked so that file offsets equal distances from
//! `BASE` in memory: `gcc -O1 -fno-zero-initialized-in-bss -shared -fPIC -nostdlib -fvisibility=hidden -Wl,-N,-z,pack-relative-relocs,-z,norelro`, and stripped.

use std::borrow::Cow;

use fathom_symbols::elf::ReadAt;
use fathom_symbols::hotspot::HotSpot;

/// Where the first byte of the file would be in memory.
const BASE: u64 = 0x40_0000;
/// A place of the file that is mapped.
const MAPPED: u64 = 0x1000;
/// Number of places in the file, from the first to the last, where code is looked for.
const LOOKS: u64 = 64;

struct Memory<'a>(&'a [u8]);

impl ReadAt for Memory<'_> {
    fn read_at(&self, address: u64, count: usize) -> Option<Cow<'_, [u8]>> {
        let from = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.0.get(from..from.checked_add(count)?).map(Cow::Borrowed)
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let memory = Memory(bytes);
    let Ok(mut hotspot) = HotSpot::of(&bytes, (BASE + MAPPED, MAPPED), &memory) else { return };
    hotspot.find_heaps(&memory);
    let length = bytes.len() as u64;
    for address in (0..LOOKS).map(|look| BASE + length * look / LOOKS) {
        if hotspot.may_be_code(address) {
            let found = hotspot.code_at(address, &memory);
            assert!(found.is_none_or(|found| address - found.start < found.size_bytes.into()));
            hotspot.inlined(address, &memory);
        }
        hotspot.method(address, &memory);
    }
}
