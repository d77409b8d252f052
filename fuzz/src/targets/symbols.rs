//! Any bytes as an ELF file, an address space, a perf map, the kernel's symbols and a mangled name, and as the
//! registers and stack of a thread that is walked through the file: everything must end, and not panic.
//!
//! The seed is `long f(long x) { return g(x) + 1; } long h(long x) { char room[99]; return f(x) * k(room); }`, linked
//! by `gcc -O1 -shared -fPIC -nostdlib -Wl,-z,noseparate-code,-z,lazy` and stripped.

use std::sync::Arc;

use fathom_symbols::demangle::demangle;
use fathom_symbols::elf::{Image, Machine};
use fathom_symbols::jit::JitMap;
use fathom_symbols::kernel::KernelSymbols;
use fathom_symbols::maps::{FileId, Mappings};
use fathom_symbols::process::Process;
use fathom_symbols::unwind::{Registers, StackCopy, Unwinder};

/// Where the file is mapped, with the JIT's code behind it.
const MAPS: &str = "10000-30000 r-xp 0 8:1 7 /lib/library.so\n30000-40000 rwxp 0 0:0 0\n";
const STACK: u64 = 0x7000_0000;
/// Where code may be, and the number of places from which each input is walked; its length selects them.
const CODE: std::ops::Range<u64> = 0x10000..0x34000;
const WALKS: u64 = 16;

pub(crate) fn run(bytes: &[u8]) {
    Mappings::parse(bytes).find(0x1000);
    if let Ok(kernel) = KernelSymbols::parse(bytes) {
        kernel.resolve(u64::MAX - 1);
    }
    if let Ok(name) = std::str::from_utf8(bytes) {
        demangle(name);
    }
    let mut process = Process::new(Mappings::parse(MAPS.as_bytes()));
    let mut jit = JitMap::parse(bytes);
    jit.learn_frames(|_, code| {
        code.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        true
    });
    process.set_jit(Arc::new(jit));
    if let Ok(mut image) = Image::read(&bytes) {
        let _ = image.add_debug_file(&bytes);
        process.set_image(FileId { major: 8, minor: 1, inode: 7 }, Some(Arc::new(image)));
    }
    walk(&process, bytes);
}

/// Walks from places of the file, with its own bytes as the stack.
fn walk(process: &Process, bytes: &[u8]) {
    let mut frames = Vec::new();
    let mut unwinder = Unwinder::new();
    let step = (CODE.end - CODE.start) / WALKS;
    for place in (0..WALKS).map(|walk| CODE.start + walk * step + bytes.len() as u64 * 13 % step) {
        process.resolve(place);
        process.file_place(place);
        let mut registers = Registers::from_pt_regs(Machine::X86_64, &[STACK + 64; 21]);
        registers.set(16, place);
        unwinder.walk(process, &registers, StackCopy { address: STACK, bytes }, &mut frames);
        assert!(frames.len() <= bytes.len() / 8 + 2, "more frames than the stack holds");
    }
}
