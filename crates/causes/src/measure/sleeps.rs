//! Sleeps of threads, from any source that recorded them.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::stacks;

/// Beginnings of the frames in which a thread sleeps.
pub const SLEEP: &[&str] = &["java.lang.Thread.sleep"];

/// As the account has threads that sleep, with or without a stack for each sleep.
pub const STATES: [ThreadState; 2] = [ThreadState::Blocked(Wait::Unnamed), ThreadState::Unknown];

/// Whether a wait is one in `Thread.sleep`.
pub fn are_sleeps(recording: &Recording) -> impl FnMut(&Span) -> bool + '_ {
    let mut is_below = stacks::are_below(recording, SLEEP);
    // From JDK 21 on that frame is not in the stack of the JVM's own event.
    move |wait| recording.text(wait.kind) == span::SLEEP || is_below(wait.stack_id)
}
