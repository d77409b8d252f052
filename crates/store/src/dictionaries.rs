//! Threads, frames and stacks as tables.

use std::collections::HashMap;

use fathom_evidence::tables::{
    Samples, Spans, StoredFrame, StoredFrames, StoredStack, StoredStacks, StoredThread, StoredThreads,
};
use fathom_evidence::{Frame, FrameId, Recording, Stack, StackId, Thread};

/// How much of the dictionaries that only grow is on disk already.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) frames: usize,
    pub(crate) stacks: usize,
}

/// A thread may have several rows: the last one counts.
pub(crate) fn thread_table(threads: impl Iterator<Item = (i64, Thread)>) -> StoredThreads {
    let mut table = StoredThreads::default();
    threads.for_each(|(tid, Thread { name, role })| table.push(StoredThread { tid, name, role }));
    table
}

pub(crate) fn stack_tables(recording: &Recording, written: &Written) -> (StoredFrames, StoredStacks) {
    let mut frames = StoredFrames::default();
    for id in written.frames.max(1)..recording.stacks.frame_count() {
        let Frame { symbol, module, kind, line } = recording.stacks.frame(FrameId(id as u32));
        frames.push(StoredFrame { frame_id: id as u32, symbol, module, kind, line });
    }
    let mut stacks = StoredStacks::default();
    for id in written.stacks.max(1)..recording.stacks.stack_count() {
        let Stack { parent, frame } = recording.stacks.stack(StackId(id as u32));
        stacks.push(StoredStack { stack_id: id as u32, parent_id: parent.0, frame_id: frame.0 });
    }
    (frames, stacks)
}

/// Interns what was stored. Stacks may have other ids then: a damaged or foreign dictionary may have gaps and repetitions.
pub(crate) fn restore_dictionaries(
    recording: &mut Recording,
    threads: &StoredThreads,
    frames: &StoredFrames,
    stacks: &StoredStacks,
) -> MovedStacks {
    for StoredThread { tid, name, role } in threads.rows() {
        recording.threads.insert(tid, Thread { name, role });
    }
    let mut frame_of = HashMap::new();
    for StoredFrame { frame_id, symbol, module, kind, line } in frames.rows() {
        frame_of.insert(frame_id, recording.stacks.intern_frame(Frame { symbol, module, kind, line }));
    }
    let mut moved =
        MovedStacks { known: recording.stacks.stack_count(), elsewhere: HashMap::new(), some_are_lost: false };
    for StoredStack { stack_id, parent_id, frame_id } in stacks.rows() {
        let parent = moved.now(StackId(parent_id));
        let frame = frame_of.get(&frame_id).copied().unwrap_or_default();
        moved.note(StackId(stack_id), recording.stacks.intern(parent, frame));
    }
    moved
}

/// The ids that stored stacks have now. Those of our own writers stay.
pub(crate) struct MovedStacks {
    /// Ids below this one are the same, unless they are elsewhere.
    known: usize,
    elsewhere: HashMap<StackId, StackId>,
    /// Rows may name stacks that are nowhere.
    pub(crate) some_are_lost: bool,
}

impl MovedStacks {
    fn note(&mut self, stored: StackId, now: StackId) {
        if stored == now && now.0 as usize == self.known {
            self.known += 1;
        } else {
            self.elsewhere.insert(stored, now);
        }
    }

    fn now(&self, stored: StackId) -> StackId {
        let same = if (stored.0 as usize) < self.known { stored } else { StackId(0) };
        if self.elsewhere.is_empty() { same } else { self.elsewhere.get(&stored).copied().unwrap_or(same) }
    }

    /// Whether no id of a row changes.
    pub(crate) fn none(&self) -> bool {
        self.elsewhere.is_empty() && !self.some_are_lost
    }

    pub(crate) fn in_samples(&self, samples: &mut Samples) {
        self.renumber(&mut samples.stack_id);
    }

    pub(crate) fn in_spans(&self, spans: &mut Spans) {
        self.renumber(&mut spans.stack_id);
        self.renumber(&mut spans.kernel_stack_id);
    }

    fn renumber(&self, ids: &mut [StackId]) {
        ids.iter_mut().for_each(|id| *id = self.now(*id));
    }
}
