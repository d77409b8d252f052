//! The result of a stack walk, one step of the walk, and why it ended.

use super::registers::Registers;

/// A copied piece of a stack, from the stack pointer upwards.
#[derive(Debug, Clone, Copy)]
pub struct StackCopy<'a> {
    /// The address of its first byte.
    pub address: u64,
    /// What was copied.
    pub bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// Whether the copy has what is at `address`.
    pub(super) fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.bytes.len() as u64)
    }

    /// The 8 bytes at `address`.
    pub(super) fn word(&self, address: u64) -> Result<u64, WalkEnd> {
        self.number(address, 8)
    }

    pub(super) fn number(&self, address: u64, size_bytes: usize) -> Result<u64, WalkEnd> {
        let offset = address.checked_sub(self.address).ok_or(WalkEnd::BadUnwindInfo)?;
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let bytes = rest.get(..size_bytes.min(8)).ok_or(WalkEnd::EndOfCopy)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// A caller.
pub(super) struct Step {
    pub(super) registers: Registers,
    pub(super) is_signal: bool,
    pub(super) is_guess: bool,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WalkEnd {
    /// The outermost function was reached.
    Complete,
    /// The next frame lies beyond the copy.
    EndOfCopy,
    /// The code is of no mapping that is known.
    UnknownCode,
    /// The file of the last address was not put into the process: put it in, and walk again.
    NotLoaded,
    /// The file could not be read, or has no unwind table for this place.
    NoUnwindInfo,
    /// The unwind table makes no sense, or does not fit the stack.
    BadUnwindInfo,
    /// Code of the JIT without a plausible frame pointer.
    JitCode,
    /// More frames than a stack can have.
    TooDeep,
}

impl WalkEnd {
    /// What it means, for a loss row.
    pub fn says(self) -> &'static str {
        match self {
            WalkEnd::Complete => "the stack is complete",
            WalkEnd::EndOfCopy => "the rest lies beyond the copied piece of the stack",
            WalkEnd::UnknownCode => "the next address is in no known mapping",
            WalkEnd::NotLoaded => "the file of the code was not loaded",
            WalkEnd::NoUnwindInfo => "there is no unwind information for the code",
            WalkEnd::BadUnwindInfo => "the unwind information does not fit the stack",
            WalkEnd::JitCode => "compiled Java code keeps no frame pointer",
            WalkEnd::TooDeep => "there are more frames than are followed",
        }
    }
}
