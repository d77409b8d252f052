//! Finds the id of a stack by its parent and frame.
//!
//! Loading a recording is mostly this lookup: once for each frame of each stack. A general hash set
//! touches three cache lines for it (control bytes, index, entry); here a slot is one word that holds
//! the id and half of the hash, so that most lookups touch one line and growing rehashes nothing.

use crate::dictionaries::{Stack, StackId};

/// Smallest table, as a power of two.
const MIN_BITS: u32 = 10;

/// From stack to id. The stacks themselves are the caller's.
#[derive(Debug, Clone)]
pub(crate) struct StackIndex {
    /// High half of the hash and id; 0 where there is none, for id 0 is never entered.
    slots: Vec<u64>,
    bits: u32,
}

impl Default for StackIndex {
    fn default() -> Self {
        StackIndex { slots: vec![0; 1 << MIN_BITS], bits: MIN_BITS }
    }
}

fn tag(stack: Stack) -> u32 {
    let key = u64::from(stack.parent.0) << 32 | u64::from(stack.frame.0);
    let product = u128::from(key ^ 0x243F_6A88_85A3_08D3) * 0x9E37_79B9_7F4A_7C15;
    ((product >> 64) as u64 ^ product as u64) as u32
}

impl StackIndex {
    /// The id of `stack` among `stacks`, to which it is appended if it is new.
    #[inline]
    pub(crate) fn intern(&mut self, stacks: &mut Vec<Stack>, stack: Stack) -> StackId {
        let tag = tag(stack);
        let mask = self.slots.len() - 1;
        let mut slot = self.home(tag);
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return self.insert(stacks, stack, tag, slot);
            }
            let id = found as u32;
            if (found >> 32) as u32 == tag && stacks[id as usize] == stack {
                return StackId(id);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Makes room for `more` stacks.
    pub(crate) fn reserve(&mut self, stacks: usize, more: usize) {
        while (stacks + more) * 2 > self.slots.len() && self.bits < u32::BITS {
            self.grow();
        }
    }

    fn home(&self, tag: u32) -> usize {
        (tag >> (u32::BITS - self.bits)) as usize
    }

    fn insert(&mut self, stacks: &mut Vec<Stack>, stack: Stack, tag: u32, slot: usize) -> StackId {
        let id = stacks.len() as u32;
        stacks.push(stack);
        self.slots[slot] = u64::from(tag) << 32 | u64::from(id);
        self.reserve(stacks.len(), 0);
        StackId(id)
    }

    fn grow(&mut self) {
        self.bits += 1;
        let old = std::mem::replace(&mut self.slots, vec![0; 1 << self.bits]);
        let mask = self.slots.len() - 1;
        for found in old.into_iter().filter(|found| *found != 0) {
            let mut slot = self.home((found >> 32) as u32);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionaries::FrameId;

    #[test]
    fn ids_are_stable_while_the_table_grows() {
        let mut stacks = vec![Stack::default()];
        let mut index = StackIndex::default();
        let all: Vec<Stack> =
            (0..20_000_u32).map(|n| Stack { parent: StackId(n / 7), frame: FrameId(n % 7 + 1) }).collect();
        for round in 0..2 {
            for (n, stack) in (1_u32..).zip(&all) {
                assert_eq!(index.intern(&mut stacks, *stack), StackId(n), "round {round}");
            }
        }
        assert_eq!(stacks.len(), all.len() + 1);
    }
}
