//! Which thread let a waiting one go on: the one that released a lock, or wrote an answer.

use std::collections::HashMap;

use fathom_evidence::Recording;
use fathom_evidence::detail::{Blocked, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use crate::threads::is_application;

/// Who woke the threads of a recording, as far as the kernel was asked. Threads of the JVM and its agents are not among them: a
/// profiler's signal wakes a thread that goes on waiting.
#[derive(Debug, Default)]
pub struct Wakers {
    /// End of each wait and who ended it, by thread, in order.
    by_thread: HashMap<i64, Vec<(i64, i64)>>,
}

impl Wakers {
    /// Those of the long waits that the scheduler's collector kept.
    pub fn of(recording: &Recording) -> Wakers {
        let mut by_thread: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
        let blocked = recording.strings.find(span::BLOCKED);
        for wait in recording.spans.rows().filter(|span| Some(span.kind) == blocked) {
            let detail: Blocked = from_text(recording.text(wait.detail));
            let is_waker = |waker: &i64| *waker != wait.tid && is_application(recording, *waker);
            if let Some(waker) = detail.waker_tid.filter(is_waker) {
                by_thread.entry(wait.tid).or_default().push((wait.end_ns(), waker));
            }
        }
        by_thread.values_mut().for_each(|ends| ends.sort_unstable());
        Wakers { by_thread }
    }

    /// The thread that ended this wait: the last that woke its thread while it lasted.
    pub fn of_wait(&self, wait: &Span) -> Option<i64> {
        let ends = self.by_thread.get(&wait.tid)?;
        let last = ends[..ends.partition_point(|(end, _)| *end <= wait.end_ns())].last();
        last.filter(|(end, _)| *end > wait.time_ns).map(|(_, waker)| *waker)
    }
}
