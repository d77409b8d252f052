//! The procedure linkage table: which function of another library a call means.
//!
//! A call of another library's function goes to a stub, which jumps through a slot that the dynamic linker fills. The
//! relocations name the slots; decoding the jump of a stub shows its slot.

use object::LittleEndian as LE;
use object::elf::{
    DT_JMPREL, DT_PLTRELSZ, DT_SYMTAB, R_AARCH64_JUMP_SLOT, R_X86_64_JUMP_SLOT, Rela64, RelocationType, Sym64,
};
use object::pod;

use super::call::{self, Call, Callee, relative};
use super::dynamic::Dynamic;
use super::headers::{Headers, Section};
use super::{Machine, ReadAt, read_part};

/// Sections that hold stubs. Those of `.plt.got` are left out: their slots are filled when the file is loaded.
const STUB_SECTIONS: [&str; 2] = [".plt", ".plt.sec"];
/// A million stubs; the largest libraries have some thousand.
const LARGEST_PLT_BYTES: u64 = 16 << 20;
/// Stubs of x86-64 have this size; those of arm64 begin with no more.
const STUB_BYTES: usize = 16;

/// Slots and stubs, sorted by address, each with where its name is among the texts of the symbols.
#[derive(Debug, Default)]
pub(crate) struct Plt {
    slots: Vec<(u64, u32)>,
    stubs: Vec<(u64, u32)>,
}

impl Plt {
    /// `names` is where the texts of the dynamic symbols begin.
    pub(crate) fn read(file: &dyn ReadAt, headers: &Headers, dynamic: &Dynamic, names: Option<u32>) -> Plt {
        let mut slots = names.and_then(|names| read_slots(file, headers, dynamic, names)).unwrap_or_default();
        slots.sort_unstable();
        let mut plt = Plt { slots, stubs: Vec::new() };
        for section in STUB_SECTIONS.into_iter().filter_map(|name| headers.section(name)) {
            plt.add_stubs(file, headers.machine, section);
        }
        plt.stubs.sort_unstable();
        plt
    }

    /// The name of the stub around `address`, and the distance from its start.
    pub(crate) fn stub_at(&self, address: u64) -> Option<(u32, u64)> {
        let after = self.stubs.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.stubs.get(after.checked_sub(1)?)?;
        let offset = address - start;
        (offset < STUB_BYTES as u64).then_some((*name, offset))
    }

    /// The name of what the call that ends `code` calls, if it is in another library, and how the call was read.
    pub(crate) fn called(&self, machine: Machine, code: &[u8], return_address: u64) -> Option<(u32, Call)> {
        let call = call::before(machine, code, return_address)?;
        let name = match call.callee {
            Callee::Slot(address) => name_at(&self.slots, address),
            Callee::Code(address) => name_at(&self.stubs, address),
        };
        Some((name?, call))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        (self.slots.capacity() + self.stubs.capacity()) * size_of::<(u64, u32)>()
    }

    fn slot(&self, address: u64) -> Option<u32> {
        name_at(&self.slots, address)
    }

    fn add_stubs(&mut self, file: &dyn ReadAt, machine: Machine, section: &Section) {
        let code = read_part(file, section.file_offset, section.size_bytes.min(LARGEST_PLT_BYTES)).unwrap_or_default();
        let found = match machine {
            Machine::X86_64 => stubs_of_x86_64(&code, section.address),
            Machine::Aarch64 => stubs_of_aarch64(&code, section.address),
        };
        let named = found.into_iter().filter_map(|(start, slot)| Some((start, self.slot(slot)?)));
        self.stubs.extend(named.collect::<Vec<_>>());
    }
}

fn read_slots(file: &dyn ReadAt, headers: &Headers, dynamic: &Dynamic, names: u32) -> Option<Vec<(u64, u32)>> {
    let symbols_at = headers.file_offset_of(dynamic.value(DT_SYMTAB)?)?;
    let bytes = dynamic.table(file, headers, DT_JMPREL, DT_PLTRELSZ)?;
    let relocations = pod::slice_from_all_bytes::<Rela64<LE>>(&bytes).ok()?;
    let kind: RelocationType = match headers.machine {
        Machine::X86_64 => R_X86_64_JUMP_SLOT,
        Machine::Aarch64 => R_AARCH64_JUMP_SLOT,
    };
    let slots = relocations.iter().filter(|relocation| relocation.r_type(LE, false) == kind);
    // One read per slot would be one system call per slot: all symbols up to the last one are read at once.
    let symbol_of = |relocation: &Rela64<LE>| u64::from(relocation.r_sym(LE, false));
    let last = slots.clone().map(symbol_of).max()?;
    let symbols = read_part(file, symbols_at, (last + 1).checked_mul(size_of::<Sym64<LE>>() as u64)?)?;
    let symbols = pod::slice_from_all_bytes::<Sym64<LE>>(&symbols).ok()?;
    let named = slots.filter_map(|relocation| {
        let symbol = symbols.get(usize::try_from(symbol_of(relocation)).ok()?)?;
        Some((relocation.r_offset.get(LE), names.checked_add(symbol.st_name.get(LE))?))
    });
    Some(named.collect())
}

fn name_at(sorted: &[(u64, u32)], address: u64) -> Option<u32> {
    let index = sorted.binary_search_by_key(&address, |(start, _)| *start).ok()?;
    sorted.get(index).map(|(_, name)| *name)
}

/// Stubs with their slots. `jmp *slot(%rip)`, behind `endbr64` or `bnd` where those are in use.
fn stubs_of_x86_64(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    let starts = (0_u64..).map(|index| address.wrapping_add(index * STUB_BYTES as u64));
    let stubs = code.chunks(STUB_BYTES).zip(starts).filter_map(|(stub, start)| {
        let at = stub.windows(6).position(|code| code[..2] == [0xff, 0x25])?;
        let distance = stub[at + 2..at + 6].try_into().ok()?;
        Some((start, relative(start.wrapping_add(at as u64 + 6), distance)))
    });
    stubs.collect()
}

/// Stubs with their slots. `adrp x16, page; ldr x17, [x16, offset]`, behind `bti c` where that is in use.
fn stubs_of_aarch64(code: &[u8], address: u64) -> Vec<(u64, u64)> {
    const BTI_C: u32 = 0xd503_245f;
    let words = code.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let words: Vec<u32> = words.collect();
    let stubs = words.windows(2).enumerate().filter_map(|(index, pair)| {
        let (adrp, ldr) = (pair[0], pair[1]);
        let is_stub = adrp & 0x9f00_001f == 0x9000_0010 && ldr & 0xffc0_03ff == 0xf940_0211;
        let place = address.wrapping_add(index as u64 * 4);
        let slot = page_of_adrp(adrp, place).wrapping_add(u64::from(ldr >> 10 & 0xfff) * 8);
        let is_behind_bti = index.checked_sub(1).and_then(|before| words.get(before)) == Some(&BTI_C);
        is_stub.then_some((if is_behind_bti { place.wrapping_sub(4) } else { place }, slot))
    });
    stubs.collect()
}

/// The page that `adrp` at `place` means: a signed distance of 21 bits, counted in pages.
fn page_of_adrp(adrp: u32, place: u64) -> u64 {
    let distance = ((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) << 11;
    let pages = i64::from(distance as i32 >> 11);
    (place & !0xfff).wrapping_add_signed(pages << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_of_both_machines_are_decoded() {
        // endbr64; bnd jmp *0x2fe5(%rip) — and the plain one
        let with_endbr = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xe5, 0x2f, 0, 0, 0x0f, 0x1f, 0x44, 0, 0];
        let plain = [0xff, 0x25, 0xe2, 0x2f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff];
        let both = [with_endbr, plain].concat();
        assert_eq!(stubs_of_x86_64(&both, 0x1000), [(0x1000, 0x1000 + 11 + 0x2fe5), (0x1010, 0x1010 + 6 + 0x2fe2)]);
        // adrp x16, +0x10 pages; ldr x17, [x16, #0xfa8]; add x16, x16, #0xfa8; br x17 — then the same behind bti c
        let arm = [0x9000_0090_u32, 0xf947_d611, 0x913e_a210, 0xd61f_0220, 0xd503_245f, 0x9000_0090, 0xf947_d611];
        let arm: Vec<u8> = arm.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(stubs_of_aarch64(&arm, 0x5a0), [(0x5a0, 0x10fa8), (0x5b0, 0x10fa8)]);
        assert_eq!(page_of_adrp(0xf0ff_fff0, 0x5123), 0x4000, "a page before");
        for nothing in [&[][..], &[0xff], &[0x90; 16]] {
            assert!(stubs_of_x86_64(nothing, 0).is_empty() && stubs_of_aarch64(nothing, 0).is_empty());
        }
    }

    #[test]
    fn calls_find_their_stub_or_slot() {
        let plt = Plt { slots: vec![(0x4000, 7)], stubs: vec![(0x1020, 9)] };
        let cases = [
            (Machine::X86_64, &[0x90, 0xe8, 0x1b, 0, 0, 0][..], 0x1005, Some((9, 5))),
            (Machine::X86_64, &[0xff, 0x15, 0, 0x20, 0, 0], 0x2000, Some((7, 6))),
            // call *0x15(%rax,%rbp,8), whose end reads as a call that leads to no stub
            (Machine::X86_64, &[0xff, 0x94, 0xe8, 0x15, 0, 0, 0], 0x2000, None),
            (Machine::X86_64, &[0xe8, 0, 0, 0, 0], 0x1005, None),
            (Machine::X86_64, &[0xff, 0xd0], 0x1005, None),
            (Machine::Aarch64, &[0x08, 0, 0, 0x94], 0x1004, Some((9, 4))),
            (Machine::Aarch64, &[0xf8, 0xff, 0xff, 0x97], 0x1044, Some((9, 4))),
            // The same distance in a plain branch, which returns nowhere.
            (Machine::Aarch64, &[0x08, 0, 0, 0x14], 0x1004, None),
        ];
        for (machine, code, return_address, expected) in cases {
            let called = plt.called(machine, code, return_address).map(|(name, call)| (name, call.size_bytes));
            assert_eq!(called, expected, "{code:x?}");
        }
    }
}
