//! The tree of stacks: finds the id of a stack by its parent and frame.
//!
//! Loading a recording is mostly this lookup, once for each frame of each stack, in a tree larger than the
//! caches. What makes it fast is the shape of such trees: most stacks have exactly one other stack on top,
//! entered right after them. So each node knows its first child, which is most often its neighbour in
//! memory; only further children are in a hash table, and a node without a child needs no lookup at all.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::dictionaries::{FrameId, Stack, StackId};

/// A stack and the first one that was put on top of it; 0 where there is none.
#[derive(Debug, Default, Clone, Copy)]
struct Node {
    stack: Stack,
    first_child: StackId,
}

/// Stacks by id. Id 0 is the empty stack.
#[derive(Debug, Clone)]
pub(crate) struct StackTree {
    nodes: Vec<Node>,
    others: Others,
}

impl Default for StackTree {
    fn default() -> Self {
        StackTree { nodes: vec![Node::default()], others: Others::default() }
    }
}

impl StackTree {
    /// The id of `stack`, whose parent must be in the tree; it is entered if it is new.
    #[inline]
    pub(crate) fn intern(&mut self, stack: Stack) -> StackId {
        let new = StackId(self.nodes.len() as u32);
        let Some(parent) = self.nodes.get_mut(stack.parent.0 as usize) else { return StackId(0) };
        let first = parent.first_child;
        if first == StackId(0) {
            if stack.frame == FrameId(0) {
                return stack.parent;
            }
            parent.first_child = new;
            return self.push(stack);
        }
        match self.nodes.get(first.0 as usize) {
            Some(child) if child.stack.frame == stack.frame => first,
            _ => self.intern_other(stack),
        }
    }

    /// Finds or enters a stack that is not its parent's first child.
    fn intern_other(&mut self, stack: Stack) -> StackId {
        if stack.frame == FrameId(0) {
            return stack.parent;
        }
        let new = StackId(self.nodes.len() as u32);
        let id = self.others.find_or_insert(stack, new);
        if id == new { self.push(stack) } else { id }
    }

    fn push(&mut self, stack: Stack) -> StackId {
        let id = StackId(self.nodes.len() as u32);
        self.nodes.push(Node { stack, first_child: StackId(0) });
        id
    }

    /// The stack `id`, if the tree has it.
    pub(crate) fn get(&self, id: StackId) -> Option<Stack> {
        self.nodes.get(id.0 as usize).map(|node| node.stack)
    }

    /// All stacks in the order of their ids, the empty one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Stack> + '_ {
        self.nodes.iter().map(|node| node.stack)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.nodes.reserve(more);
    }
}

/// Smallest table, as a power of two.
const MIN_BITS: u32 = 8;

/// All children but the first, by parent and frame. Slots are chosen by one multiplication with a random odd
/// number, which no file can foresee.
#[derive(Debug, Clone)]
struct Others {
    /// Stack and id; id 0 where there is none.
    slots: Vec<(Stack, StackId)>,
    bits: u32,
    factor: u64,
    used: usize,
}

impl Default for Others {
    fn default() -> Self {
        let factor = RandomState::new().build_hasher().finish() | 1;
        Others { slots: vec![Default::default(); 1 << MIN_BITS], bits: MIN_BITS, factor, used: 0 }
    }
}

impl Others {
    /// The id of `stack`; if there is none, `new` is entered.
    fn find_or_insert(&mut self, stack: Stack, new: StackId) -> StackId {
        let at = self.slot(stack);
        let (_, id) = self.slots[at];
        if id != StackId(0) {
            return id;
        }
        self.slots[at] = (stack, new);
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        new
    }

    /// The slot that holds `stack`, or the free one where it belongs.
    fn slot(&self, stack: Stack) -> usize {
        let key = u64::from(stack.parent.0) << 32 | u64::from(stack.frame.0);
        let mask = self.slots.len() - 1;
        let mut at = (key.wrapping_mul(self.factor) >> (u64::BITS - self.bits)) as usize;
        while self.slots[at].1 != StackId(0) && self.slots[at].0 != stack {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        let old = std::mem::replace(&mut self.slots, vec![Default::default(); 1 << self.bits]);
        for (stack, id) in old.into_iter().filter(|(_, id)| *id != StackId(0)) {
            let at = self.slot(stack);
            self.slots[at] = (stack, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(parent: u32, frame: u32) -> Stack {
        Stack { parent: StackId(parent), frame: FrameId(frame) }
    }

    #[test]
    fn ids_are_dense_and_stable_while_the_tree_grows() {
        let mut tree = StackTree::default();
        let all: Vec<Stack> = (0..20_000).map(|n| stack(n / 7, n % 7 + 1)).collect();
        for round in 0..2 {
            for (n, stack) in (1..).zip(&all) {
                assert_eq!(tree.intern(*stack), StackId(n), "round {round}");
            }
        }
        assert_eq!(tree.len(), all.len() + 1);
        assert!(tree.iter().skip(1).eq(all));
    }

    #[test]
    fn what_is_no_stack_gives_one_that_is() {
        let mut tree = StackTree::default();
        assert_eq!(tree.intern(stack(0, 0)), StackId(0));
        assert_eq!(tree.intern(stack(9, 1)), StackId(0), "a parent that is not there");
        let leaf = tree.intern(stack(0, 1));
        assert_eq!(tree.intern(stack(leaf.0, 0)), leaf, "no frame on top");
        assert_eq!((tree.get(leaf), tree.get(StackId(7))), (Some(stack(0, 1)), None));
    }
}
