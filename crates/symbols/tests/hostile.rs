//! Forged files, registers and stacks: everything ends, and nothing panics.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{compile, without_section_headers};
use fathom_symbols::elf::{Image, Machine};
use fathom_symbols::maps::{FileId, Mappings};
use fathom_symbols::process::Process;
use fathom_symbols::unwind::{Registers, StackCopy, Unwinder};
use proptest::collection::vec;
use proptest::prelude::{any, prop_oneof};
use proptest::strategy::{Just, Strategy};
use proptest::{prop_assert, proptest};

/// Where the file is mapped.
const BASE: u64 = 0x7f00_0000_0000;
/// The top of the stack.
const TOP: u64 = 0x7ffd_0000_0000;

fn library() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::read(compile(folder.path(), "library.c", "library.so", &["-O1", "-shared", "-fPIC"])).unwrap()
}

/// Changes of a file: places as fractions of it, most of them in its headers and tables.
fn changes() -> impl Strategy<Value = Vec<(f64, u8)>> {
    let place = prop_oneof![0.0..0.04, 0.0..1.0, 0.75..1.0];
    let byte = prop_oneof![any::<u8>(), Just(0xff), Just(0), Just(0x80)];
    vec((place, byte), 0..20)
}

fn change(file: &mut [u8], changes: &[(f64, u8)]) {
    let size = file.len() as f64;
    for (place, byte) in changes {
        file[(place * size) as usize] = *byte;
    }
}

fn ask(image: &Image, address: u64) {
    image.resolve(address);
    image.section_at(address);
    image.import_call(&[0xe8, 1, 2, 3, 4], address);
    if let Some(offset) = image.file_offset_of(address) {
        image.address_of(offset);
    }
}

/// A process that has the image at [`BASE`], some JIT code behind it, and a stack.
fn process(image: Image) -> Process {
    let maps = format!(
        "{BASE:x}-{:x} r-xp 0 8:1 77 /lib/library.so\n{:x}-{:x} rwxp 0 0:0 0\n",
        BASE + 0x8000,
        BASE + 0x8000,
        BASE + 0x9000
    );
    let mut process = Process::new(Mappings::parse(maps.as_bytes()));
    process.set_image(FileId { major: 8, minor: 1, inode: 77 }, Some(Arc::new(image)));
    process
}

#[test]
fn damaged_files_are_read_or_refused() {
    let whole = library();
    let bare = without_section_headers(&whole);
    proptest!(|(changes in changes(), cut in 0.0..1.5, is_bare: bool, address in 0_u64..0x6000, any_address: u64)| {
        let mut file = if is_bare { bare.clone() } else { whole.clone() };
        change(&mut file, &changes);
        file.truncate((cut * file.len() as f64) as usize);
        if let Ok(mut image) = Image::read(&file) {
            ask(&image, address);
            ask(&image, any_address);
            let _ = image.add_debug_file(&whole);
            ask(&image, address);
            prop_assert!(image.memory_bytes() < 64 * file.len() + (1 << 16));
        }
    });
}

#[test]
fn walks_through_damaged_tables_end() {
    let whole = library();
    // Words of a stack: anything, places in the code, places on the stack.
    let word = prop_oneof![
        any::<u64>(),
        (0x1000..0x9000_u64).prop_map(|at| BASE + at),
        (0..512_u64).prop_map(|at| TOP + at * 8)
    ];
    let values = vec(word.clone(), 21);
    proptest!(|(changes in changes(), values in values, stack in vec(word, 0..512), place in 0x1000..0x9000_u64, top in 0..64_u64)| {
        let mut file = whole.clone();
        change(&mut file, &changes);
        let Ok(image) = Image::read(&file) else { return Ok(()) };
        let mut registers = Registers::from_pt_regs(Machine::X86_64, &values);
        registers.set(16, BASE + place);
        registers.set(7, TOP + top * 8);
        let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut frames = Vec::new();
        Unwinder::new().walk(&process(image), &registers, StackCopy { address: TOP, bytes: &bytes }, &mut frames);
        prop_assert!(!frames.is_empty() && frames.len() <= stack.len() + 2, "{} frames", frames.len());
    });
}

#[test]
fn files_that_are_none_are_refused() {
    let library = library();
    let mut other_machine = library.clone();
    other_machine[0x12] = 3;
    for bytes in [&b""[..], b"\x7fELF", &[0; 64], &library[..63], &other_machine, &[0x7f; 4096]] {
        assert!(Image::read(&bytes).is_err(), "{} bytes", bytes.len());
    }
}
