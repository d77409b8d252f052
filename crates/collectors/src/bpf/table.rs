//! Hash maps that programs fill and user space reads as a whole.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use libbpf_rs::libbpf_sys::bpf_map_lookup_batch;
use libbpf_rs::{MapCore, MapHandle};

/// A hash map with buffers for all of its entries.
pub(crate) struct Table {
    map: MapHandle,
    keys: Vec<u8>,
    values: Vec<u8>,
    capacity: u32,
    /// Entries read last.
    len: usize,
}

impl Table {
    /// Reads `map`.
    pub(crate) fn new(map: MapHandle) -> Table {
        let capacity = map.max_entries();
        let bytes = |size: u32| vec![0; capacity as usize * size as usize];
        let (keys, values) = (bytes(map.key_size()), bytes(map.value_size()));
        Table { map, keys, values, capacity, len: 0 }
    }

    /// Reads all entries, in one call. Entries that come or go meanwhile may be missing.
    pub(crate) fn read(&mut self) {
        let mut count = self.capacity;
        let mut next = [0_u8; 64];
        // SAFETY: the buffers hold `capacity` keys and values, and the position fits its buffer, as
        // the kernel's is at most a key or 4 bytes.
        let answer = unsafe {
            bpf_map_lookup_batch(
                self.map.as_fd().as_raw_fd(),
                ptr::null_mut(),
                next.as_mut_ptr().cast(),
                self.keys.as_mut_ptr().cast(),
                self.values.as_mut_ptr().cast(),
                &raw mut count,
                ptr::null(),
            )
        };
        // The end of the map is reported as "no entry"; with other errors the count is not set.
        let is_read = answer == 0 || answer == -libc::ENOENT;
        self.len = if is_read { count.min(self.capacity) as usize } else { 0 };
    }

    /// The entries read last, keys and values.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let keys = self.keys.chunks_exact(self.map.key_size() as usize);
        keys.zip(self.values.chunks_exact(self.map.value_size() as usize)).take(self.len)
    }

    /// Whether more than half of the room is taken.
    pub(crate) fn is_filling(&self) -> bool {
        self.len * 2 > self.capacity as usize
    }

    /// Takes out the entries read last whose key begins with a thread that has ended.
    pub(crate) fn forget(&self, ended: &HashSet<u32>) {
        let has_ended = |key: &[u8]| key.first_chunk().is_some_and(|tid| ended.contains(&u32::from_ne_bytes(*tid)));
        self.rows().filter(|(key, _)| has_ended(key)).for_each(|(key, _)| self.remove(key));
    }

    /// Takes out an entry.
    pub(crate) fn remove(&self, key: &[u8]) {
        // It may have gone by itself.
        let _ = self.map.delete(key);
    }
}
