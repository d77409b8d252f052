//! Arrays in which programs count and which are mapped into this process: reading them is no system call and copies nothing.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use libbpf_rs::{MapCore, MapHandle};
use memmap2::{MmapOptions, MmapRaw};

use crate::Refusal;

/// An array whose values are `WORDS` words of 64 bits, the first of which is a key or 0.
pub(crate) struct MappedArray<const WORDS: usize> {
    memory: MmapRaw,
    len: usize,
}

impl<const WORDS: usize> MappedArray<WORDS> {
    /// Maps `map`, an array of the kernel with the flag `BPF_F_MMAPABLE`.
    pub(crate) fn new(map: &MapHandle) -> Result<MappedArray<WORDS>, Refusal> {
        let len = map.max_entries() as usize;
        let refused = |error: &dyn std::fmt::Display| Refusal::new(format!("counts could not be mapped: {error}"), "");
        if map.value_size() as usize != WORDS * size_of::<u64>() {
            return Err(refused(&format!("values of {} bytes", map.value_size())));
        }
        let mapped = MmapOptions::new().len(len * WORDS * size_of::<u64>()).map_raw(map.as_fd().as_raw_fd());
        Ok(MappedArray { memory: mapped.map_err(|error| refused(&error))?, len })
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The values as they are now, word by word: words of one value may be of two moments. Of places that are free only the
    /// first word is read.
    pub(crate) fn rows(&self) -> impl Iterator<Item = [u64; WORDS]> {
        self.keys().enumerate().map(|(index, key)| {
            std::array::from_fn(|word| match word {
                0 => key,
                _ if key == 0 => 0,
                _ => self.word(index, word).load(Ordering::Relaxed),
            })
        })
    }

    /// The first words of all values.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> {
        (0..self.len).map(|index| self.word(index, 0).load(Ordering::Acquire))
    }

    /// One value, as [`MappedArray::rows`] gives them.
    pub(crate) fn row(&self, index: usize) -> [u64; WORDS] {
        std::array::from_fn(|word| self.get(index, word))
    }

    /// One word of a value.
    pub(crate) fn get(&self, index: usize, word: usize) -> u64 {
        self.word(index, word).load(Ordering::Acquire)
    }

    /// Writes one word of a value.
    pub(crate) fn set(&self, index: usize, word: usize, value: u64) {
        self.word(index, word).store(value, Ordering::Release);
    }

    /// Frees a place. Its next user finds it zero.
    pub(crate) fn clear(&self, index: usize) {
        (1..WORDS).for_each(|word| self.set(index, word, 0));
        self.set(index, 0, 0);
    }

    /// Frees the places of keys that no program uses any more.
    pub(crate) fn free(&self, is_unused: impl Fn(u64) -> bool) {
        let unused = self.keys().enumerate().filter(|(_, key)| *key != 0 && is_unused(*key));
        unused.for_each(|(index, _)| self.clear(index));
    }

    fn word(&self, index: usize, word: usize) -> &AtomicU64 {
        assert!(index < self.len && word < WORDS);
        let words = self.memory.as_mut_ptr().cast::<u64>();
        // SAFETY: the mapping holds `len` values of `WORDS` words, begins on a page and lives as long as `self`. Programs of the
        // kernel write to it as well, whole words at a time.
        unsafe { AtomicU64::from_ptr(words.add(index * WORDS + word)) }
    }
}
