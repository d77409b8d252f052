//! The stacks of a recording as one tree in preorder: what a flame graph adds up and draws.
//!
//! Stacks that differ in source lines only are one path here. Nodes are numbered in preorder with siblings sorted
//! by name, so that the subtree of a node is the range of numbers up to its `end`, adding up is one pass from the
//! last node to the first, and drawing is one pass from the first to the last.

use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};
use rayon::slice::ParallelSliceMut;
use rustc_hash::FxHashMap;

/// Deeper frames count for the one at this depth: no recorder of stacks goes deeper, damaged files do.
pub(crate) const DEPTH_MAX: u16 = 4_096;

/// A place in code without its line. Symbol and kind are what it is; the module is one that has it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) symbol: StrId,
    pub(crate) kind: StrId,
    pub(crate) module: StrId,
}

impl From<Frame> for Place {
    fn from(frame: Frame) -> Place {
        Place { symbol: frame.symbol, kind: frame.kind, module: frame.module }
    }
}

impl Place {
    fn identity(&self) -> (StrId, StrId) {
        (self.symbol, self.kind)
    }
}

/// All stacks, merged.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The caller of each node; 0 for the root, which is node 0.
    pub(crate) parent: Vec<u32>,
    /// The number after the last one of each node's subtree.
    pub(crate) end: Vec<u32>,
    /// The place of each node, an index into `places`; 0 for the root.
    pub(crate) place: Vec<u32>,
    /// The different places; the first is that of the root.
    pub(crate) places: Vec<Place>,
}

impl Tree {
    /// The tree of a recording, and the node of each of its stacks.
    pub(crate) fn new(recording: &Recording) -> (Tree, Vec<u32>) {
        let (places, place_of_frame) = places(recording);
        let mut merged = Merged::default();
        let node_of_stack: Vec<u32> = merged.merge(recording, &place_of_frame);
        let (tree, number_of_node) = merged.in_preorder(places);
        let node_of_stack = node_of_stack.into_iter().map(|node| number_of_node[node as usize]).collect();
        (tree, node_of_stack)
    }

    pub(crate) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The nodes called by `node`.
    pub(crate) fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.end[node as usize];
        let mut next = node + 1;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let child = next;
                next = self.end[child as usize];
                child
            })
        })
    }

    /// Weights of the nodes themselves to weights with everything below them.
    pub(crate) fn add_up(&self, own: &[f64]) -> Vec<f64> {
        let mut totals = own.to_vec();
        for node in (1..self.len()).rev() {
            totals[self.parent[node] as usize] += totals[node];
        }
        totals
    }
}

/// The different places of a recording, sorted by text, and the one of each frame.
fn places(recording: &Recording) -> (Vec<Place>, Vec<u32>) {
    let frames = (0..recording.stacks.frame_count()).map(|id| recording.stacks.frame(FrameId(id as u32)));
    let frames: Vec<Place> = frames.map(Place::from).collect();
    let mut places: Vec<Place> = frames.clone();
    let text = |place: &Place| (recording.text(place.symbol), recording.text(place.kind), recording.text(place.module));
    places.par_sort_unstable_by(|a, b| text(a).cmp(&text(b)));
    places.dedup_by_key(|place| place.identity());
    // The empty place of "no frame" sorts first and is the root's.
    let number: FxHashMap<_, u32> = (0..).zip(&places).map(|(number, place)| (place.identity(), number)).collect();
    let of_frame = frames.iter().map(|place| number[&place.identity()]).collect();
    (places, of_frame)
}

/// Stacks merged by place, in the order in which they were met: callers before what they call.
struct Merged {
    parent: Vec<u32>,
    place: Vec<u32>,
    depth: Vec<u16>,
}

impl Default for Merged {
    fn default() -> Self {
        Merged { parent: vec![0], place: vec![0], depth: vec![0] }
    }
}

impl Merged {
    /// Enters all stacks; gives the node of each.
    fn merge(&mut self, recording: &Recording, place_of_frame: &[u32]) -> Vec<u32> {
        let count = recording.stacks.stack_count();
        let mut known: FxHashMap<u64, u32> = FxHashMap::default();
        let mut node_of_stack: Vec<u32> = Vec::with_capacity(count);
        node_of_stack.push(0);
        for id in 1..count {
            let stack = recording.stacks.stack(StackId(id as u32));
            let parent = node_of_stack.get(stack.parent.0 as usize).copied().unwrap_or(0);
            let place = place_of_frame.get(stack.frame.0 as usize).copied().unwrap_or(0);
            node_of_stack.push(self.enter(parent, place, &mut known));
        }
        node_of_stack
    }

    fn enter(&mut self, parent: u32, place: u32, known: &mut FxHashMap<u64, u32>) -> u32 {
        let depth = self.depth[parent as usize];
        if depth >= DEPTH_MAX || place == 0 {
            return parent;
        }
        let key = u64::from(parent) << 32 | u64::from(place);
        *known.entry(key).or_insert_with(|| {
            self.parent.push(parent);
            self.place.push(place);
            self.depth.push(depth + 1);
            self.parent.len() as u32 - 1
        })
    }

    /// Numbers the nodes anew; gives the new number of each.
    fn in_preorder(self, places: Vec<Place>) -> (Tree, Vec<u32>) {
        let count = self.parent.len();
        let (first_child, children) = self.children_by_place();
        let mut order: Vec<u32> = Vec::with_capacity(count);
        let mut pending: Vec<u32> = vec![0];
        while let Some(node) = pending.pop() {
            order.push(node);
            let range = first_child[node as usize] as usize..first_child[node as usize + 1] as usize;
            pending.extend(children[range].iter().rev());
        }
        let mut number_of_node = vec![0_u32; count];
        (0..).zip(&order).for_each(|(number, node)| number_of_node[*node as usize] = number);
        let parent: Vec<u32> = order.iter().map(|node| number_of_node[self.parent[*node as usize] as usize]).collect();
        let tree = Tree {
            end: ends(&parent),
            parent,
            place: order.iter().map(|node| self.place[*node as usize]).collect(),
            places,
        };
        (tree, number_of_node)
    }

    /// The children of all nodes, one node's after the other's and sorted by place, and where each node's begin.
    fn children_by_place(&self) -> (Vec<u32>, Vec<u32>) {
        let count = self.parent.len();
        let mut children: Vec<u32> = (1..count as u32).collect();
        children.par_sort_unstable_by_key(|child| (self.parent[*child as usize], self.place[*child as usize]));
        let mut first_child = vec![0_u32; count + 1];
        self.parent.iter().skip(1).for_each(|parent| first_child[*parent as usize + 1] += 1);
        for node in 0..count {
            first_child[node + 1] += first_child[node];
        }
        (first_child, children)
    }
}

/// The number after each node's subtree, of nodes in preorder.
fn ends(parent: &[u32]) -> Vec<u32> {
    let mut end: Vec<u32> = (1..=parent.len() as u32).collect();
    for node in (1..parent.len()).rev() {
        let up = parent[node] as usize;
        end[up] = end[up].max(end[node]);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(recording: &mut Recording, name: &str, line: u32) -> FrameId {
        let symbol = recording.strings.intern(name);
        recording.stacks.intern_frame(Frame { symbol, line, ..Frame::default() })
    }

    #[test]
    fn stacks_that_differ_in_lines_are_one_path_and_siblings_are_sorted() {
        let mut recording = Recording::default();
        let stacks: Vec<StackId> =
            [&[("b", 1), ("x", 1)][..], &[("b", 2), ("x", 9)], &[("a", 1)], &[("b", 1), ("c", 1)]]
                .iter()
                .map(|names| {
                    let frames: Vec<FrameId> =
                        names.iter().map(|(name, line)| frame(&mut recording, name, *line)).collect();
                    recording.stacks.intern_from_root(frames)
                })
                .collect();
        let (tree, node_of_stack) = Tree::new(&recording);
        let names: Vec<&str> =
            tree.place.iter().map(|place| recording.text(tree.places[*place as usize].symbol)).collect();
        assert_eq!(names, ["", "a", "b", "c", "x"]);
        assert_eq!(tree.parent, [0, 0, 0, 2, 2]);
        assert_eq!(tree.end, [5, 2, 5, 4, 5]);
        let nodes: Vec<u32> = stacks.iter().map(|stack| node_of_stack[stack.0 as usize]).collect();
        assert_eq!(nodes, [4, 4, 1, 3]);
        assert_eq!(tree.add_up(&[0.0, 1.0, 2.0, 4.0, 8.0]), [15.0, 1.0, 14.0, 4.0, 8.0]);
        assert_eq!(tree.children(2).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn absurdly_deep_stacks_end_at_a_depth() {
        let mut recording = Recording::default();
        let frames: Vec<FrameId> = (0..20_000).map(|n| frame(&mut recording, &format!("f{n}"), 0)).collect();
        let leaf = recording.stacks.intern_from_root(frames);
        let (tree, node_of_stack) = Tree::new(&recording);
        assert_eq!(tree.len(), usize::from(DEPTH_MAX) + 1);
        assert_eq!(node_of_stack[leaf.0 as usize] as usize, tree.len() - 1);
    }
}
