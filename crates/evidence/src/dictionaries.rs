//! Dictionaries: what repeats is stored once and named by a small number.
//!
//! Id 0 means "none" in every dictionary: the empty string, no frame, no stack. A column of ids is
//! therefore never null, and a zeroed row is a valid row.

use std::hash::BuildHasherDefault;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHasher;

pub use crate::ids::{FrameId, Stack, StackId, StrId};
use crate::mask;
use crate::stack_tree::StackTree;

type Hasher = BuildHasherDefault<FxHasher>;

/// Every text of a recording, each once. All that is recorded and read passes here, so secrets are masked here and nowhere
/// else has to think of it, but who knows more of a text than its bytes say (the name of its property).
#[derive(Debug, Clone)]
pub struct Strings(IndexSet<Box<str>, Hasher>);

impl Default for Strings {
    fn default() -> Self {
        let mut set = IndexSet::default();
        set.insert("".into());
        Strings(set)
    }
}

impl Strings {
    /// The id of `text`, which is stored if it is new, with its secrets masked.
    pub fn intern(&mut self, text: &str) -> StrId {
        match self.find(text) {
            Some(known) => known,
            None => self.intern_masked(&mask::text(text)),
        }
    }

    fn intern_masked(&mut self, text: &str) -> StrId {
        let index = self.0.get_index_of(text).unwrap_or_else(|| self.0.insert_full(text.into()).0);
        StrId(index as u32)
    }

    /// The id of `text` if the recording has it.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.0.get_index_of(text).map(|index| StrId(index as u32))
    }

    /// The text of `id`; empty for an id of another recording.
    pub fn get(&self, id: StrId) -> &str {
        self.0.get_index(id.0 as usize).map_or("", |text| text)
    }

    /// How many different texts there are, the empty one included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over what another dictionary has: its secrets were masked when they came there.
    pub(crate) fn absorb(&mut self, other: &Strings) -> Vec<StrId> {
        other.0.iter().map(|text| self.intern_masked(text)).collect()
    }
}

/// One place in code.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// `class.method` for Java, the demangled function for native code.
    pub symbol: StrId,
    /// Library or Java module; empty when unknown.
    pub module: StrId,
    /// One of [`crate::kinds::frame`]: the layer the frame belongs to.
    pub kind: StrId,
    /// Source line, 0 when unknown.
    pub line: u32,
}

/// Frames and the stacks made of them; stacks with a common root share it.
#[derive(Debug, Clone)]
pub struct Stacks {
    frames: IndexSet<Frame, Hasher>,
    stacks: StackTree,
}

impl Default for Stacks {
    fn default() -> Self {
        let frames = IndexSet::from_iter([Frame::default()]);
        Stacks { frames, stacks: StackTree::default() }
    }
}

impl Stacks {
    /// The id of `frame`, stored if new.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.insert_full(frame).0 as u32)
    }

    /// The stack that has `frame` on top of `parent`, which is a stack of this recording.
    #[inline]
    pub fn intern(&mut self, parent: StackId, frame: FrameId) -> StackId {
        self.stacks.intern(Stack { parent, frame })
    }

    /// The stacks that `frames` give one after the other on top of `parent`, into `ids`.
    #[inline]
    pub fn intern_path(&mut self, parent: StackId, frames: &[FrameId], ids: &mut Vec<StackId>) {
        self.stacks.intern_path(parent, frames, ids);
    }

    /// Brings stacks into the processor's caches that others are about to be put on top of. Changes nothing.
    pub fn warm(&self, stacks: impl Iterator<Item = StackId> + Clone) {
        self.stacks.warm(stacks);
    }

    /// Interns a whole stack given from the root to the leaf.
    pub fn intern_from_root(&mut self, frames: impl IntoIterator<Item = FrameId>) -> StackId {
        frames.into_iter().fold(StackId(0), |parent, frame| self.intern(parent, frame))
    }

    /// The frame behind `id`.
    pub fn frame(&self, id: FrameId) -> Frame {
        self.frames.get_index(id.0 as usize).copied().unwrap_or_default()
    }

    /// Caller and top frame of `id`.
    pub fn stack(&self, id: StackId) -> Stack {
        self.stacks.get(id).unwrap_or_default()
    }

    /// The frames of a stack from the leaf to the root.
    pub fn leaf_to_root(&self, id: StackId) -> impl Iterator<Item = Frame> + '_ {
        self.ids_leaf_to_root(id).map(|frame| self.frame(frame))
    }

    /// The ids of the frames of a stack from the leaf to the root.
    pub fn ids_leaf_to_root(&self, id: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = id;
        std::iter::from_fn(move || {
            let stack = self.stacks.get(next).filter(|_| next != StackId(0))?;
            // A parent always has a smaller id; damaged files must not make this a loop.
            next = if stack.parent < next { stack.parent } else { StackId(0) };
            Some(stack.frame)
        })
    }

    /// How many frames there are, "none" included.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// How many stacks there are, "none" included.
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// Makes room ahead of a bulk load.
    pub fn reserve(&mut self, frames: usize, stacks: usize) {
        self.frames.reserve(frames);
        self.stacks.reserve(stacks);
    }

    /// Gives the texts of all frames other ids; different texts keep different ids.
    pub(crate) fn renumber(&mut self, mut text: impl FnMut(StrId) -> StrId) {
        let frames = std::mem::take(&mut self.frames).into_iter();
        let renumbered =
            frames.map(|f| Frame { symbol: text(f.symbol), module: text(f.module), kind: text(f.kind), line: f.line });
        self.frames = renumbered.collect();
    }

    pub(crate) fn absorb(&mut self, other: &Stacks, strings: &[StrId]) -> Vec<StackId> {
        let text = |id: StrId| strings.get(id.0 as usize).copied().unwrap_or_default();
        let frames: Vec<FrameId> = other
            .frames
            .iter()
            .map(|f| Frame { symbol: text(f.symbol), module: text(f.module), kind: text(f.kind), line: f.line })
            .map(|frame| self.intern_frame(frame))
            .collect();
        let mut stacks: Vec<StackId> = Vec::with_capacity(other.stacks.len());
        for stack in other.stacks.iter() {
            let parent = stacks.get(stack.parent.0 as usize).copied().unwrap_or_default();
            let frame = frames.get(stack.frame.0 as usize).copied().unwrap_or_default();
            stacks.push(self.intern(parent, frame));
        }
        stacks
    }
}

/// A thread of the observed process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// Its name when last seen.
    pub name: StrId,
    /// One of [`crate::kinds::role`].
    pub role: StrId,
}

/// The threads of a recording by their id: the OS thread id, or for a virtual thread (which has
/// none of its own) its Java thread id negated. 0 stands for the process as a whole.
#[derive(Debug, Default, Clone)]
pub struct Threads {
    all: IndexMap<i64, Thread, Hasher>,
    /// Whose entry is not what it was when changes were last forgotten. Ids of texts do not tell: they are numbered anew.
    changed: IndexSet<i64, Hasher>,
}

impl Threads {
    /// Remembers a thread; a later name replaces an earlier one unless it is empty.
    pub fn insert(&mut self, tid: i64, thread: Thread) {
        let is_new = !self.all.contains_key(&tid);
        let slot = self.all.entry(tid).or_default();
        let before = *slot;
        if thread.name != StrId(0) {
            slot.name = thread.name;
        }
        if thread.role != StrId(0) {
            slot.role = thread.role;
        }
        if is_new || *slot != before {
            self.changed.insert(tid);
        }
    }

    /// Those that are new, or have another name or role, since [`Threads::forget_changes`].
    pub fn changed(&self) -> impl Iterator<Item = (i64, Thread)> + '_ {
        self.changed.iter().filter_map(|tid| Some((*tid, self.get(*tid)?)))
    }

    /// From now on none has changed.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// The thread `tid`, if it is known.
    pub fn get(&self, tid: i64) -> Option<Thread> {
        self.all.get(&tid).copied()
    }

    /// All threads in the order in which they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (i64, Thread)> + '_ {
        self.all.iter().map(|(tid, thread)| (*tid, *thread))
    }

    /// How many threads there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether no thread is known.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Gives the texts of all threads other ids.
    pub(crate) fn renumber(&mut self, mut text: impl FnMut(StrId) -> StrId) {
        for thread in self.all.values_mut() {
            *thread = Thread { name: text(thread.name), role: text(thread.role) };
        }
    }

    pub(crate) fn absorb(&mut self, other: &Threads, strings: &[StrId]) {
        let text = |id: StrId| strings.get(id.0 as usize).copied().unwrap_or_default();
        for (tid, thread) in other.iter() {
            self.insert(tid, Thread { name: text(thread.name), role: text(thread.role) });
        }
    }
}
