//! A thread as it was when it left user mode, as the programs send it.

use super::words;
use crate::symbols::{UserStack, this_machine};
use fathom_symbols::unwind::Registers;

const REGISTERS: usize = 34;
const FRAMES: usize = 64;
const STACK_AT: usize = (REGISTERS + FRAMES) * 8 + 8;
const STACK_BYTES: usize = 3 * 4096;

/// What can be unwound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserState<'a> {
    /// Registers in the order in which the kernel keeps them for a debugger: x86-64 from r15 to ss,
    /// arm64 x0 to x30, sp, pc, pstate.
    pub(crate) registers: [u64; REGISTERS],
    /// The stack by frame pointers, leaf first; reliable only in code that keeps them.
    pub(crate) frames: Vec<u64>,
    /// Memory from the stack pointer on.
    pub(crate) stack: &'a [u8],
}

impl UserState<'_> {
    /// Bytes of the kernel's struct.
    pub(crate) const BYTES: usize = STACK_AT + STACK_BYTES;

    /// Reads the kernel's struct; `None` when bytes are missing.
    pub(crate) fn parse(bytes: &[u8]) -> Option<UserState<'_>> {
        if bytes.len() < Self::BYTES {
            return None;
        }
        let mut all = words(&bytes[..STACK_AT]);
        let mut registers = [0; REGISTERS];
        registers.iter_mut().zip(&mut all).for_each(|(register, word)| *register = word);
        let frames: Vec<u64> = all.by_ref().take(FRAMES).collect();
        let counts = all.next()?.to_ne_bytes();
        let count = |at: usize| u32::from_ne_bytes(counts[at..at + 4].try_into().unwrap_or_default()) as usize;
        let stack = &bytes[STACK_AT..STACK_AT + count(4).min(STACK_BYTES)];
        Some(UserState { registers, frames: frames[..count(0).min(FRAMES)].to_vec(), stack })
    }

    /// For the unwinder.
    pub(crate) fn stack(&self) -> UserStack<'_> {
        let registers = Registers::from_pt_regs(this_machine(), &self.registers);
        UserStack { registers, stack: self.stack, frames: &self.frames }
    }

    /// Where the thread was.
    pub(crate) fn instruction(&self) -> u64 {
        self.registers[if cfg!(target_arch = "x86_64") { 16 } else { 32 }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(frame_count: u32, stack_bytes: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = (1..=(REGISTERS + FRAMES) as u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend(frame_count.to_ne_bytes());
        bytes.extend(stack_bytes.to_ne_bytes());
        bytes.resize(UserState::BYTES, 7);
        bytes
    }

    #[test]
    fn counts_are_believed_as_far_as_there_is_room() {
        for (frame_count, stack_bytes, frames, stack) in [
            (0, 0, 0, 0),
            (2, 100, 2, 100),
            (64, 12288, 64, 12288),
            (65, 12289, 64, 12288),
            (u32::MAX, u32::MAX, 64, 12288),
        ] {
            let bytes = bytes(frame_count, stack_bytes);
            let state = UserState::parse(&bytes).unwrap();
            assert_eq!((state.frames.len(), state.stack.len()), (frames, stack), "{frame_count} {stack_bytes}");
            assert_eq!((state.registers[0], state.registers[33]), (1, 34));
            assert!(state.frames.first().is_none_or(|first| *first == 35));
        }
        assert_eq!(UserState::parse(&bytes(1, 1)[..UserState::BYTES - 1]), None);
    }
}
