//! A map from 64-bit keys to small numbers, for the lookups that happen once for each frame and event.
//!
//! A general hash map reads control bytes, then the entry. Here one multiplication with a random odd number, which no
//! file can predict, selects the slot, and it is nearly always the right one: one cache line.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Smallest table, as a power of two.
const MIN_BITS: u32 = 8;

/// Numbers by key. The number 0 cannot be stored; it means that there is none.
#[derive(Debug, Clone)]
pub(super) struct KeyMap {
    slots: Vec<(u64, u32)>,
    bits: u32,
    factor: u64,
    used: usize,
}

impl KeyMap {
    /// A map with room for `keys`.
    pub(super) fn with_room(keys: usize) -> KeyMap {
        let bits = (keys * 2).next_power_of_two().trailing_zeros().max(MIN_BITS);
        let factor = RandomState::new().build_hasher().finish() | 1;
        KeyMap { slots: vec![(0, 0); 1 << bits], bits, factor, used: 0 }
    }

    /// The number of `key`, or 0.
    #[inline]
    pub(super) fn get(&self, key: u64) -> u32 {
        self.slots[self.find(key)].1
    }

    /// Stores `number` under `key` in place of an earlier one.
    pub(super) fn insert(&mut self, key: u64, number: u32) {
        let slot = self.find(key);
        self.used += usize::from(self.slots[slot].1 == 0);
        self.slots[slot] = (key, number);
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// The slot that holds `key`, or the free one where it belongs.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(self.factor) >> (u64::BITS - self.bits)) as usize;
        while self.slots[slot].0 != key && self.slots[slot].1 != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let mut larger = KeyMap::with_room(self.slots.len());
        for (key, number) in self.slots.iter().filter(|slot| slot.1 != 0) {
            larger.insert(*key, *number);
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_after_growing() {
        let mut map = KeyMap::with_room(0);
        let keys: Vec<u64> = (0..5_000_u64).map(|n| n.wrapping_mul(0x1_0001_0001) ^ (n << 50)).collect();
        for (number, key) in (1..).zip(&keys) {
            assert_eq!(map.get(*key), 0);
            map.insert(*key, number);
        }
        for (number, key) in (1..).zip(&keys) {
            assert_eq!(map.get(*key), number);
        }
        map.insert(keys[7], 9);
        assert_eq!((map.get(keys[7]), map.get(u64::MAX)), (9, 0));
    }
}
