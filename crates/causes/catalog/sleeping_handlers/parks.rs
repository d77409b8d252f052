//! Timed parks and monitor waits that are sleeps: the application itself set the time, and nothing but the clock ended them.

use fathom_evidence::detail::{Blocked, Wait, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{begins_with, is_own};

use crate::period::Period;

/// Frames in which a thread parks for a time. Below locks, queues and futures the time limits a wait for another thread.
const PARKS: &[&str] = &[
    "java.util.concurrent.locks.LockSupport.parkNanos",
    "java.util.concurrent.locks.LockSupport.parkUntil",
    "java.lang.Object.wait",
];

/// Whether a wait is such a park.
pub(super) fn is_sleep(period: &Period<'_>, wait: &Span) -> bool {
    ran_out(period, wait) && is_called_by_the_application(period.sources.recording, wait.stack_id)
}

/// Whether the wait ended by its time limit. Of a sample that is unknown.
fn ran_out(period: &Period<'_>, wait: &Span) -> bool {
    let recording = period.sources.recording;
    match recording.text(wait.kind) {
        span::PARK => {
            let detail: Wait = from_text(recording.text(wait.detail));
            detail.timeout_ns.is_some_and(|limit_ns| limit_ns > 0 && wait.duration_ns >= limit_ns)
        }
        span::MONITOR_WAIT => from_text::<Wait>(recording.text(wait.detail)).timed_out == Some(true),
        span::BLOCKED => {
            let detail: Blocked = from_text(recording.text(wait.detail));
            !detail.waker_tid.is_some_and(|waker| waker != wait.tid && period.sources.is_application(waker))
        }
        _ => false,
    }
}

fn is_called_by_the_application(recording: &Recording, stack: StackId) -> bool {
    let is_park = |symbol: &str| begins_with(symbol, PARKS);
    let mut frames = recording.stacks.leaf_to_root(stack).skip_while(|frame| !is_park(recording.text(frame.symbol)));
    let caller = frames.find(|frame| !is_park(recording.text(frame.symbol)));
    caller.is_some_and(|caller| is_own(recording, &caller))
}
