//! What the program writes, as bytes to structs. The layout is that of `standing.bpf.c`.

use crate::bpf::{halves, words};

const REGISTERS: usize = 34;

/// Bytes of one look.
const BYTES: usize = (4 + REGISTERS) * 8;

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
    /// What it has run since its start.
    pub(super) ran_ns: i64,
    /// When it last got a CPU, before the look; none where that is not known.
    pub(super) arrived_ago_ns: Option<i64>,
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
        Look { tid, switches, ran_ns: 0, arrived_ago_ns: None, registers }
    }
}

/// All looks of one walk; what is less than one is left out.
pub(super) fn looks(bytes: &[u8]) -> Vec<Look> {
    let look = |bytes: &[u8]| {
        let mut all = words(bytes);
        let mut next = || all.next().unwrap_or(0);
        let (tid, _) = halves(next());
        let (switches, ran_ns, arrived_ago_ns) = (next(), next() as i64, next() as i64);
        let arrived_ago_ns = Some(arrived_ago_ns).filter(|ago_ns| *ago_ns > 0);
        Look { tid, switches, ran_ns, arrived_ago_ns, registers: [(); REGISTERS].map(|()| next()) }
    };
    bytes.chunks_exact(BYTES).map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_read_as_far_as_they_are_whole() {
        let mut bytes: Vec<u8> = (1..=38_u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend_from_within(..100);
        let read = looks(&bytes);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].tid, read[0].switches, read[0].registers[0], read[0].registers[33]), (1, 2, 5, 38));
        assert_eq!((read[0].ran_ns, read[0].arrived_ago_ns), (3, Some(4)));
        let place = read[0].place();
        assert_eq!(place.stack_pointer, STACK_POINTER as u64 + 5);
        assert_eq!(looks(&[]), []);
    }
}
