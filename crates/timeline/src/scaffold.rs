//! What tests put into recordings.

use fathom_evidence::{Frame, Recording, StackId};

/// A stack that has only names.
pub(crate) fn stack(recording: &mut Recording, leaf_to_root: &[&str]) -> StackId {
    let frames: Vec<_> = leaf_to_root
        .iter()
        .rev()
        .map(|symbol| {
            let frame = Frame { symbol: recording.strings.intern(symbol), ..Frame::default() };
            recording.stacks.intern_frame(frame)
        })
        .collect();
    recording.stacks.intern_from_root(frames)
}
