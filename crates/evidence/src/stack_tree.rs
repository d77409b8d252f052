//! The tree of stacks: finds the id of a stack by its parent and frame.
//!
//! Loading a recording is mostly this lookup, once for each frame of each stack, in a tree larger than the
//! caches. What makes it fast is the shape of such trees: most stacks have exactly one other stack on top,
//! entered right after them, and most others have two. So each node knows its first two children, of which the
//! first is most often its neighbour in memory; only further children are in a hash table, and a node without
//! a child needs no lookup at all.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::ids::{FrameId, Stack, StackId};
use crate::memory;

/// A stack and the first two that were put on top of it; 0 where there is none.
#[derive(Debug, Default, Clone, Copy)]
struct Node {
    stack: Stack,
    first_child: StackId,
    second_child: StackId,
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
        let Some(parent) = self.nodes.get_mut(stack.parent.0 as usize) else { return StackId(0) };
        let second = parent.second_child;
        if second == StackId(0) {
            parent.second_child = new;
            return self.push(stack);
        }
        if self.get(second).is_some_and(|child| child.frame == stack.frame) {
            return second;
        }
        let id = self.others.find_or_insert(stack, &self.nodes);
        if id == new { self.push(stack) } else { id }
    }

    /// The ids of the stacks that `frames` give one after the other on top of `parent`, in place of what `ids` had.
    pub(crate) fn intern_path(&mut self, parent: StackId, frames: &[FrameId], ids: &mut Vec<StackId>) {
        ids.clear();
        let (mut top, before) = (parent, self.nodes.len());
        for (number, frame) in frames.iter().enumerate() {
            top = self.intern(Stack { parent: top, frame: *frame });
            ids.push(top);
            // Nothing is on top of a new stack.
            if self.nodes.len() > before {
                return self.push_path(top, &frames[number + 1..], ids);
            }
        }
    }

    /// Enters the stacks that `frames` give on top of `leaf`, on which there is none.
    fn push_path(&mut self, leaf: StackId, frames: &[FrameId], ids: &mut Vec<StackId>) {
        memory::reserve(&mut self.nodes, frames.len());
        let mut top = leaf;
        for frame in frames {
            if *frame != FrameId(0) {
                let new = StackId(self.nodes.len() as u32);
                // Until now this was the last one.
                if let Some(node) = self.nodes.last_mut() {
                    node.first_child = new;
                }
                self.nodes.push(Node { stack: Stack { parent: top, frame: *frame }, ..Node::default() });
                top = new;
            }
            ids.push(top);
        }
    }

    fn push(&mut self, stack: Stack) -> StackId {
        let id = StackId(self.nodes.len() as u32);
        memory::reserve(&mut self.nodes, 1);
        self.nodes.push(Node { stack, ..Node::default() });
        id
    }

    /// Brings `ids` and their first children into the caches, waiting for many of them at once.
    pub(crate) fn warm(&self, ids: impl Iterator<Item = StackId> + Clone) {
        let node = |id: StackId| self.nodes.get(id.0 as usize).copied().unwrap_or_default();
        let children = ids.clone().fold(0, |all, id| all ^ node(id).first_child.0);
        let parents = ids.fold(0, |all, id| all ^ node(node(id).first_child).stack.parent.0);
        std::hint::black_box((children, parents));
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
        memory::reserve(&mut self.nodes, more);
        self.others.reserve(more / 16, &self.nodes);
    }
}

/// Smallest table, as a power of two.
const MIN_BITS: u32 = 8;

/// All children but the first two, by parent and frame. Slots are chosen by one multiplication with a random odd
/// number, which no file can foresee. They hold ids only, to be small; the stack itself is in its node.
#[derive(Debug, Clone)]
struct Others {
    /// Some bits of the hash, which rule most other stacks out, and the id; id 0 where there is none.
    slots: Vec<(u32, u32)>,
    bits: u32,
    factor: u64,
    used: usize,
}

impl Default for Others {
    fn default() -> Self {
        let factor = RandomState::new().build_hasher().finish() | 1;
        Others { slots: memory::filled(1 << MIN_BITS), bits: MIN_BITS, factor, used: 0 }
    }
}

impl Others {
    /// Makes room for `more` stacks.
    fn reserve(&mut self, more: usize, nodes: &[Node]) {
        while (self.used + more) * 3 > self.slots.len() * 2 {
            self.grow(nodes);
        }
    }

    /// The id of `stack`; if there is none, the one that the next node will have is entered.
    fn find_or_insert(&mut self, stack: Stack, nodes: &[Node]) -> StackId {
        let (at, tag) = self.slot(stack, nodes);
        let (_, id) = self.slots[at];
        if id != 0 {
            return StackId(id);
        }
        let new = nodes.len() as u32;
        self.slots[at] = (tag, new);
        self.used += 1;
        if self.used * 3 > self.slots.len() * 2 {
            self.grow(nodes);
            // The new stack has no node yet, so that growing left it out.
            let (at, tag) = self.slot(stack, nodes);
            self.slots[at] = (tag, new);
        }
        StackId(new)
    }

    /// The slot that holds `stack`, or the free one where it belongs, and what to put there.
    #[inline]
    fn slot(&self, stack: Stack, nodes: &[Node]) -> (usize, u32) {
        let key = u64::from(stack.parent.0) << 32 | u64::from(stack.frame.0);
        let hash = key.wrapping_mul(self.factor);
        let (tag, mask) = ((hash >> 12) as u32, self.slots.len() - 1);
        let mut at = (hash >> (u64::BITS - self.bits)) as usize;
        loop {
            let (other, id) = self.slots[at & mask];
            let is_same = || nodes.get(id as usize).is_some_and(|node| node.stack == stack);
            if id == 0 || (other == tag && is_same()) {
                return (at & mask, tag);
            }
            at += 1;
        }
    }

    /// Doubles the table and enters again every node that is not one of its parent's first two children.
    #[cold]
    fn grow(&mut self, nodes: &[Node]) {
        self.bits += 1;
        self.slots = memory::filled(1 << self.bits);
        for (id, node) in (0..).zip(nodes).skip(1) {
            let parent = nodes[node.stack.parent.0 as usize];
            if ![parent.first_child, parent.second_child].contains(&StackId(id)) {
                let (at, tag) = self.slot(node.stack, nodes);
                self.slots[at] = (tag, id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each takes Miri a millisecond.
    const STACKS: u32 = if cfg!(miri) { 1_000 } else { 20_000 };

    fn stack(parent: u32, frame: u32) -> Stack {
        Stack { parent: StackId(parent), frame: FrameId(frame) }
    }

    #[test]
    fn ids_are_dense_and_stable_while_the_tree_grows() {
        let mut tree = StackTree::default();
        let all: Vec<Stack> = (0..STACKS).map(|n| stack(n / 7, n % 7 + 1)).collect();
        for round in 0..2 {
            for (n, stack) in (1..).zip(&all) {
                assert_eq!(tree.intern(*stack), StackId(n), "round {round}");
            }
        }
        assert_eq!(tree.len(), all.len() + 1);
        assert!(tree.iter().skip(1).eq(all));
    }

    #[test]
    fn paths_are_their_stacks_one_by_one() {
        let (mut tree, mut other) = (StackTree::default(), StackTree::default());
        let mut ids = Vec::new();
        for seed in 0..STACKS / 10 {
            let frames: Vec<FrameId> = (0..seed % 9).map(|n| FrameId((seed * 7 + n * n) % 11)).collect();
            let parent = StackId(seed % tree.len() as u32);
            tree.intern_path(parent, &frames, &mut ids);
            let mut top = parent;
            let mut put = |frame: &FrameId| {
                top = other.intern(Stack { parent: top, frame: *frame });
                top
            };
            assert_eq!(ids, frames.iter().map(&mut put).collect::<Vec<_>>(), "{seed}");
        }
        assert!(tree.iter().eq(other.iter()));
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
