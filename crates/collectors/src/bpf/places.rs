//! Arrays that programs count in and that are mapped into this process: reading them is no system call and copies nothing.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{MapCore, MapHandle};
use memmap2::{MmapOptions, MmapRaw};

use crate::Refusal;

/// An array whose values are `WORDS` words of 64 bits.
pub(crate) struct Places<const WORDS: usize> {
    memory: MmapRaw,
    len: usize,
}

impl<const WORDS: usize> Places<WORDS> {
    /// Maps `map`, an array of the kernel with the flag `BPF_F_MMAPABLE`.
    pub(crate) fn new(map: &MapHandle) -> Result<Places<WORDS>, Refusal> {
        let len = map.max_entries() as usize;
        let refused = |error: &dyn std::fmt::Display| Refusal::new(format!("counts could not be mapped: {error}"), "");
        if map.value_size() as usize != WORDS * size_of::<u64>() {
            return Err(refused(&format!("values of {} bytes", map.value_size())));
        }
        let mapped = MmapOptions::new().len(len * WORDS * size_of::<u64>()).map_raw_read_only(map.as_fd().as_raw_fd());
        Ok(Places { memory: mapped.map_err(|error| refused(&error))?, len })
    }

    /// The values as they are now, word by word: words of one value may be of two moments.
    pub(crate) fn rows(&self) -> impl Iterator<Item = [u64; WORDS]> {
        let words = self.memory.as_ptr().cast::<u64>();
        (0..self.len).map(move |index| {
            // SAFETY: the mapping holds `len` values of `WORDS` words and begins on a page. Others write to it: each word
            // is read once, and any word is a number.
            std::array::from_fn(|word| unsafe { words.add(index * WORDS + word).read_volatile() })
        })
    }
}
