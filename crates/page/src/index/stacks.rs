//! Stacks that are put together, and the rows that have them.

use fathom_evidence::{FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

/// Stacks that stand on others: those of the kernel on those of the program.
#[derive(Debug, Default)]
pub(crate) struct Joined(FxHashMap<(StackId, StackId), StackId>);

impl Joined {
    /// Adds to the recording's stacks those of its spans, the kernel's on top.
    pub(crate) fn new(recording: &mut Recording) -> Joined {
        let mut joined = Joined::default();
        for row in 0..recording.spans.stack_id.len() {
            let (own, kernel) = (recording.spans.stack_id[row], recording.spans.kernel_stack_id[row]);
            if own != StackId(0) && kernel != StackId(0) {
                joined.0.entry((own, kernel)).or_insert_with(|| put_on(recording, own, kernel));
            }
        }
        joined
    }

    /// The whole stack of a span; 0 if it has none.
    pub(super) fn of(&self, recording: &Recording, row: u32) -> StackId {
        let (own, kernel) = (recording.spans.stack_id[row as usize], recording.spans.kernel_stack_id[row as usize]);
        let either = if own == StackId(0) { kernel } else { own };
        self.0.get(&(own, kernel)).copied().unwrap_or(either)
    }
}

/// A stack on top of another one.
pub(super) fn put_on(recording: &mut Recording, below: StackId, top: StackId) -> StackId {
    let frames: Vec<FrameId> = recording.stacks.ids_leaf_to_root(top).collect();
    frames.into_iter().rev().fold(below, |parent, frame| recording.stacks.intern(parent, frame))
}

/// One row of an event to be.
pub(super) struct Row {
    pub(super) time: i64,
    pub(super) length: i64,
    pub(super) thread: u32,
    pub(super) node: u32,
}
