//! Threads of the application that waited for something other than work.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use crate::cells::Wait;
use crate::intervals::Intervals;
use crate::view::View;

/// Classes of `java.util.concurrent` that a thread parks on when another thread holds what it
/// needs. Queues, conditions and futures are waiting for work and are not here.
const PARKS: &[(&str, Wait)] = &[
    ("ReentrantLock", Wait::Lock),
    ("ReentrantReadWriteLock", Wait::Lock),
    ("StampedLock", Wait::Lock),
    ("Semaphore", Wait::Permit),
];

/// One wait with the part of it that the application was not stopped anyway.
#[derive(Debug, Clone, Copy)]
pub struct WaitSpan {
    /// The span that says so.
    pub span: Span,
    /// What was waited for.
    pub wait: Wait,
    /// Time of the wait outside stops, in ns.
    pub lost_ns: f64,
}

/// All waits of the application's threads.
pub(crate) fn find(view: &View<'_>, stopped: &Intervals) -> Vec<WaitSpan> {
    const KINDS: &[(&str, Wait)] = &[
        (span::MONITOR_ENTER, Wait::Lock),
        (span::PARK, Wait::Lock),
        (span::SOCKET_READ, Wait::Socket),
        (span::SOCKET_WRITE, Wait::Socket),
        (span::FILE_READ, Wait::File),
        (span::FILE_WRITE, Wait::File),
        (span::FILE_FORCE, Wait::File),
        (span::ALLOCATION_STALL, Wait::AllocationStall),
        (span::SYSTEM_CALL, Wait::File),
        (span::PAGE_FAULT, Wait::PageFault),
    ];
    // The kernel sees all calls, the JVM those of some classes.
    let calls = view.spans(span::SYSTEM_CALL).len() > 0;
    let elsewhere = elsewhere_by_thread(view);
    let mut waits = Vec::new();
    for (kind, wait) in KINDS {
        let is_repeated = calls && matches!(*kind, span::FILE_READ | span::FILE_WRITE | span::FILE_FORCE);
        let spans = view.spans(kind).filter(|span| !is_repeated && view.is_application(span.tid));
        waits.extend(spans.filter_map(|span| {
            let wait = refine(view, *wait, &span)?;
            let end = span.end_ns();
            let mut lost = span.duration_ns.max(0).saturating_sub(stopped.within_ns(span.time_ns, end));
            if wait != Wait::PageFault {
                let known = elsewhere.get(&span.tid);
                lost = lost.saturating_sub(known.map_or(0, |known| known.within_ns(span.time_ns, end)));
            }
            if wait == Wait::Socket && *kind != span::PARK {
                lost = lost.min(view.waited_for_service_ns(&span));
            }
            Some(WaitSpan { span, wait, lost_ns: lost.max(0) as f64 })
        }));
    }
    waits
}

/// Time of which the kernel knows better what a thread waits for: one that touches a page on its way waits for
/// that, and one that could have run while the JVM's clock was ticking waits for a CPU.
fn elsewhere_by_thread(view: &View<'_>) -> HashMap<i64, Intervals> {
    let mut by_thread: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
    for known in view.spans(span::PAGE_FAULT).chain(view.spans(span::RUN_QUEUE_WAIT)) {
        let end = known.end_ns();
        by_thread.entry(known.tid).or_default().push((known.time_ns, end));
    }
    by_thread.into_iter().map(|(tid, known)| (tid, Intervals::union(known))).collect()
}

/// What a wait is; nothing when the thread just has nothing to do.
fn refine(view: &View<'_>, wait: Wait, span: &Span) -> Option<Wait> {
    let kind = view.recording.text(span.kind);
    match wait {
        Wait::Lock if kind == span::PARK => {
            parked_on(view.recording.text(span.name)).or_else(|| view.call_of_a_client(span).map(|_| Wait::Socket))
        }
        Wait::Socket => view.is_service(span).then_some(wait),
        Wait::File if kind == span::SYSTEM_CALL => view.is_of_a_file(span).then_some(wait),
        _ => Some(wait),
    }
}

/// What a thread waits for that parked on an object of `class`.
fn parked_on(class: &str) -> Option<Wait> {
    let simple = class.rsplit(['.', '/']).next().unwrap_or(class);
    let is_condition = simple.contains("Condition");
    let found = PARKS.iter().find(|(name, _)| simple.starts_with(name) && !is_condition);
    found.map(|(_, wait)| *wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_told_from_queues() {
        for (class, expected) in [
            ("java.util.concurrent.locks.ReentrantLock$NonfairSync", Some(Wait::Lock)),
            ("java.util.concurrent.locks.ReentrantReadWriteLock$FairSync", Some(Wait::Lock)),
            ("java.util.concurrent.Semaphore$NonfairSync", Some(Wait::Permit)),
            ("java/util/concurrent/locks/ReentrantLock$FairSync", Some(Wait::Lock)),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", None),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode", None),
            ("java.util.concurrent.SynchronousQueue$TransferStack", None),
            ("java.util.concurrent.ForkJoinPool", None),
            ("", None),
        ] {
            assert_eq!(parked_on(class), expected, "{class}");
        }
    }
}
