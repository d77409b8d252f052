//! What the program writes, as bytes to structs. The layout is that of `standing.bpf.c`.

use crate::bpf::{halves, words};

const REGISTERS: usize = 34;

/// Bytes of one look.
const BYTES: usize = (2 + REGISTERS) * 8;

/// Where the kernel keeps the stack pointer, and the first argument of a system call.
const STACK_POINTER: usize = if cfg!(target_arch = "x86_64") { 19 } else { 31 };
const ARGUMENT: usize = if cfg!(target_arch = "x86_64") { 14 } else { 0 };

/// Where a thread waits: at the same depth of its stack for the same thing it does so in the same code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) tid: u32,
    pub(super) stack_pointer: u64,
    /// The first argument of the system call.
    pub(super) argument: u64,
}

/// A thread that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) tid: u32,
    /// How often it has left a CPU.
    pub(super) switches: u64,
    /// Its registers in user mode, in the order in which the kernel keeps them for a debugger.
    pub(super) registers: [u64; REGISTERS],
}

impl Look {
    pub(super) fn place(&self) -> Place {
        Place { tid: self.tid, stack_pointer: self.registers[STACK_POINTER], argument: self.registers[ARGUMENT] }
    }

    #[cfg(test)]
    pub(super) fn of(tid: u32, switches: u64, stack_pointer: u64) -> Look {
        let mut registers = [0; REGISTERS];
        registers[STACK_POINTER] = stack_pointer;
        Look { tid, switches, registers }
    }
}

/// All looks of one walk; what is less than one is left out.
pub(super) fn looks(bytes: &[u8]) -> Vec<Look> {
    let look = |bytes: &[u8]| {
        let mut all = words(bytes);
        let mut next = || all.next().unwrap_or(0);
        let (tid, _) = halves(next());
        Look { tid, switches: next(), registers: [(); REGISTERS].map(|()| next()) }
    };
    bytes.chunks_exact(BYTES).map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_read_as_far_as_they_are_whole() {
        let mut bytes: Vec<u8> = (1..=36_u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend_from_within(..100);
        let read = looks(&bytes);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].tid, read[0].switches, read[0].registers[0], read[0].registers[33]), (1, 2, 3, 36));
        let place = read[0].place();
        assert_eq!(place.stack_pointer, STACK_POINTER as u64 + 3);
        assert_eq!(looks(&[]), []);
    }
}
