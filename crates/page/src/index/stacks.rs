//! Stacks that are grouped, and the rows that have them.

use std::collections::BTreeMap;

use fathom_evidence::kinds::span;
use fathom_evidence::{FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

/// Stacks that stand on others: those of the kernel on those of the program.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    whole: FxHashMap<(StackId, StackId), StackId>,
    /// Of a wait that only the kernel saw, the program's stack of what it lies in.
    around: FxHashMap<u32, StackId>,
}

impl Joined {
    /// Adds to the recording's stacks those of its spans, the kernel's on top.
    pub(crate) fn new(recording: &mut Recording) -> Joined {
        let mut joined = Joined { around: around(recording), ..Joined::default() };
        for row in 0..recording.spans.stack_id.len() {
            let (own, kernel) = joined.parts(recording, row as u32);
            if own != StackId(0) && kernel != StackId(0) {
                joined.whole.entry((own, kernel)).or_insert_with(|| put_on(recording, own, kernel));
            }
        }
        joined
    }

    /// The program's stack of a span, and the kernel's.
    fn parts(&self, recording: &Recording, row: u32) -> (StackId, StackId) {
        let own = recording.spans.stack_id[row as usize];
        let around = || self.around.get(&row).copied().unwrap_or(StackId(0));
        (if own == StackId(0) { around() } else { own }, recording.spans.kernel_stack_id[row as usize])
    }

    /// The whole stack of a span; 0 if it has none.
    pub(super) fn of(&self, recording: &Recording, row: u32) -> StackId {
        let (own, kernel) = self.parts(recording, row);
        let either = if own == StackId(0) { kernel } else { own };
        self.whole.get(&(own, kernel)).copied().unwrap_or(either)
    }
}

/// Faults and calls of one thread lie in each other no deeper than this.
const DEEPEST: usize = 4;

/// Waits in the kernel without a stack of the program: the fault or call around them on the same thread has it.
fn around(recording: &Recording) -> FxHashMap<u32, StackId> {
    let spans = &recording.spans;
    let is = |row: usize, kinds: &[&str]| kinds.contains(&recording.text(spans.kind[row]));
    let rows = |kinds: &'static [&'static str]| (0..spans.kind.len()).filter(move |row| is(*row, kinds));
    let mut outer: BTreeMap<i64, Vec<(i64, i64, StackId)>> = BTreeMap::new();
    for row in rows(&[span::PAGE_FAULT, span::SYSTEM_CALL]).filter(|row| spans.stack_id[*row] != StackId(0)) {
        let span = spans.row(row);
        outer.entry(span.tid).or_default().push((span.time_ns, span.end_ns(), span.stack_id));
    }
    outer.values_mut().for_each(|list| list.sort_unstable());
    let stack_around = |row: usize| {
        let wait = spans.row(row);
        let list = outer.get(&wait.tid)?;
        let begun = list.partition_point(|(from_ns, _, _)| *from_ns <= wait.time_ns);
        let mut near = list[..begun].iter().rev().take(DEEPEST);
        near.find(|(_, to_ns, _)| *to_ns >= wait.end_ns()).map(|(_, _, stack)| (row as u32, *stack))
    };
    rows(&[span::BLOCKED]).filter(|row| spans.stack_id[*row] == StackId(0)).filter_map(stack_around).collect()
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

#[cfg(test)]
mod tests {
    use fathom_evidence::Frame;
    use fathom_evidence::tables::Span;

    use super::*;

    #[test]
    fn a_wait_of_a_fault_has_the_stack_of_the_fault() {
        let mut recording = Recording::default();
        let stack = |recording: &mut Recording, name: &str| {
            let symbol = recording.strings.intern(name);
            let frame = recording.stacks.intern_frame(Frame { symbol, ..Frame::default() });
            recording.stacks.intern_from_root([frame])
        };
        let (program, kernel) = (stack(&mut recording, "_dl_fixup"), stack(&mut recording, "filemap_fault"));
        let [fault, blocked] = [span::PAGE_FAULT, span::BLOCKED].map(|kind| recording.strings.intern(kind));
        let of = |kind, tid, time_ns, duration_ns| Span { kind, tid, time_ns, duration_ns, ..Span::default() };
        recording.spans.push(Span { stack_id: program, ..of(fault, 1, 100, 50) });
        for (tid, time_ns, duration_ns) in [(1, 110, 30), (2, 110, 30), (1, 140, 20)] {
            recording.spans.push(Span { kernel_stack_id: kernel, ..of(blocked, tid, time_ns, duration_ns) });
        }
        let joined = Joined::new(&mut recording);
        let names = |row| {
            let frames = recording.stacks.leaf_to_root(joined.of(&recording, row));
            frames.map(|frame| recording.text(frame.symbol)).collect::<Vec<&str>>()
        };
        assert_eq!(names(1), ["filemap_fault", "_dl_fixup"]);
        assert_eq!([names(2), names(3)], [["filemap_fault"], ["filemap_fault"]]);
    }
}
