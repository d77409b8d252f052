//! The call instruction before a return address: its address and its target.
//!
//! Instructions of x86-64 cannot be read backwards with certainty: what looks like a call may be the end of a longer
//! one. So a reading counts only if its target is one that calls of other files' functions have: a stub of the linkage
//! table, or a slot of it. Calls through a register have no fixed target and are not read.

use std::fmt;

use super::Machine;

/// How far before a return address its call may begin, in bytes: `call *slot(%rip)` with a prefix.
pub const LONGEST_CALL_BYTES: usize = 8;

/// What a call instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// Code at this address.
    Code(u64),
    /// The code whose address stands at this one.
    Slot(u64),
}

/// One reading of the bytes before a return address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    /// Length of the instruction without its prefixes, which change nothing.
    pub(crate) size_bytes: u64,
}

/// A call of another file's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportCall<'a> {
    /// The function, as it stands in the file: not demangled.
    pub name: &'a str,
    /// How far before the return address the instruction begins, in bytes.
    pub size_bytes: u64,
    machine: Machine,
    through_slot: bool,
}

impl<'a> ImportCall<'a> {
    pub(crate) fn new(name: &'a str, machine: Machine, call: Call) -> ImportCall<'a> {
        let through_slot = matches!(call.callee, Callee::Slot(_));
        ImportCall { name, size_bytes: call.size_bytes, machine, through_slot }
    }
}

impl fmt::Display for ImportCall<'_> {
    /// As assemblers write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.machine, self.through_slot) {
            (Machine::X86_64, true) => write!(f, "call *{}@GOTPCREL(%rip)", self.name),
            (Machine::X86_64, false) => write!(f, "call {}@plt", self.name),
            (Machine::Aarch64, _) => write!(f, "bl {}@plt", self.name),
        }
    }
}

/// The call that may end `code`, which is followed by `return_address`.
pub(crate) fn before(machine: Machine, code: &[u8], return_address: u64) -> Option<Call> {
    let (callee, size_bytes) = match (machine, code) {
        // call *slot(%rip), as compiled with -fno-plt
        (Machine::X86_64, [.., 0xff, 0x15, a, b, c, d]) => {
            (Callee::Slot(relative(return_address, [*a, *b, *c, *d])), 6)
        }
        // call address
        (Machine::X86_64, [.., 0xe8, a, b, c, d]) => (Callee::Code(relative(return_address, [*a, *b, *c, *d])), 5),
        (Machine::Aarch64, [.., a, b, c, d]) => {
            let word = u32::from_le_bytes([*a, *b, *c, *d]);
            (Callee::Code(branch_with_link(word, return_address.wrapping_sub(4))?), 4)
        }
        _ => return None,
    };
    Some(Call { callee, size_bytes })
}

/// The target of `bl` at `place`: a signed distance of 26 bits, counted in instructions.
fn branch_with_link(word: u32, place: u64) -> Option<u64> {
    let distance = i64::from((word << 6) as i32 >> 6) * 4;
    (word >> 26 == 0b10_0101).then(|| place.wrapping_add_signed(distance))
}

/// The address at a signed distance of 32 bits from the end of an instruction of x86-64.
pub(crate) fn relative(end: u64, distance: [u8; 4]) -> u64 {
    end.wrapping_add_signed(i64::from(i32::from_le_bytes(distance)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(machine: Machine, code: &[u8], return_address: u64) -> Option<(Callee, u64)> {
        before(machine, code, return_address).map(|call| (call.callee, call.size_bytes))
    }

    #[test]
    fn calls_of_both_machines_are_read() {
        use Callee::{Code, Slot};
        const TOP: u64 = u64::MAX;
        let cases = [
            (Machine::X86_64, &[0xe8, 0x1b, 0, 0, 0][..], 0x1005, Some((Code(0x1020), 5))),
            // Prefixes of control-flow protection and of relaxed linking change nothing.
            (Machine::X86_64, &[0xf2, 0xe8, 0xfb, 0xff, 0xff, 0xff], 0x1005, Some((Code(0x1000), 5))),
            (Machine::X86_64, &[0x67, 0xe8, 0, 0, 0, 0x80], 0x1_0000_0000, Some((Code(0x8000_0000), 5))),
            (Machine::X86_64, &[0xff, 0x15, 0, 0x20, 0, 0], 0x2000, Some((Slot(0x4000), 6))),
            // The end of `call *0x15(%rax,%rbp,8)` reads so too: only what is at the address can tell.
            (Machine::X86_64, &[0xff, 0x94, 0xe8, 0x15, 0, 0, 0], 0x2000, Some((Code(0x2015), 5))),
            (Machine::X86_64, &[0xff, 0x15, 0xe8, 1, 0, 0, 0], 0x2000, Some((Code(0x2001), 5))),
            // Through a register, through memory that a register points to, and a jump.
            (Machine::X86_64, &[0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], 0x1000, None),
            (Machine::X86_64, &[0x90, 0x90, 0x41, 0xff, 0x54, 0x24, 0x10], 0x1000, None),
            (Machine::X86_64, &[0xe9, 0, 0, 0, 0], 0x1000, None),
            // At the ends of the address space.
            (Machine::X86_64, &[0xe8, 0xff, 0xff, 0xff, 0x7f], TOP, Some((Code(0x7fff_fffe), 5))),
            (Machine::Aarch64, &[0, 0, 0, 0x96], 0, Some((Code(0xffff_ffff_f7ff_fffc), 4))),
            (Machine::Aarch64, &[0xff, 0xff, 0xff, 0x95], 4, Some((Code(0x7ff_fffc), 4))),
            // blr x0
            (Machine::Aarch64, &[0, 0, 0x3f, 0xd6], 0x1000, None),
        ];
        for (machine, code, return_address, expected) in cases {
            assert_eq!(read(machine, code, return_address), expected, "{code:x?}");
        }
    }

    #[test]
    fn calls_are_written_as_assemblers_do() {
        let written = |machine, callee| ImportCall::new("rare", machine, Call { callee, size_bytes: 4 }).to_string();
        assert_eq!(written(Machine::X86_64, Callee::Code(0)), "call rare@plt");
        assert_eq!(written(Machine::X86_64, Callee::Slot(0)), "call *rare@GOTPCREL(%rip)");
        assert_eq!(written(Machine::Aarch64, Callee::Code(0)), "bl rare@plt");
    }

    proptest::proptest! {
        #[test]
        fn any_code_is_read(code: Vec<u8>, return_address: u64) {
            for machine in [Machine::X86_64, Machine::Aarch64] {
                let size_bytes = read(machine, &code, return_address).map_or(0, |(_, size_bytes)| size_bytes);
                assert!(size_bytes as usize <= code.len().min(LONGEST_CALL_BYTES));
            }
        }
    }
}
