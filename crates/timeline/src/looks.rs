//! Waits that only looks found a thread in: what they were.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Wait as Detail, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use crate::states::{ThreadState, Wait};
use crate::waits::Waits;

/// What the thread waited for. A thread dump says how it waited and on what; of a profiler's samples only the stack tells.
pub(crate) fn state(recording: &Recording, waits: &mut Waits<'_, '_>, wait: &Span) -> Option<ThreadState> {
    let how = from_text::<Detail>(recording.text(wait.detail)).how;
    match how.as_deref() {
        None => waits.of_standing(wait),
        Some(span::MONITOR_ENTER) => Some(ThreadState::Blocked(Wait::Lock)),
        Some(_) => Some(waits.of_park(wait)),
    }
}
