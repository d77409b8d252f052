//! The lost time that stretches of single threads account for: their own waiting, and the stops that had to wait for them.

use fathom_evidence::kinds::{role, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Stop, StopSpan, ThreadState, Wait};

use crate::cause::{Claim, ThreadTime};
use crate::comparison::Comparison;

/// Claims for spans in which a thread could not go on. Of threads of the application it is that much
/// of `waiting`; of any thread that a stop waited for, that much of the stop, once for each thread
/// of the application that was at work.
pub fn claims<'s>(
    comparison: &Comparison<'_>,
    spans: impl Iterator<Item = &'s Span>,
    waiting: ThreadState,
) -> Vec<Claim> {
    let stops = &comparison.analysis.account.stops;
    let (mut own, mut held) = (Vec::new(), Vec::new());
    for span in spans {
        let (from, to) = (span.time_ns, span.end_ns());
        own.push((span.tid, from, to));
        let first = stops.partition_point(|stop| stop.to_ns <= from);
        for stop in stops[first..].iter().take_while(|stop| stop.from_ns < to) {
            if holds_up(comparison, span.tid, stop) {
                held.push((ThreadState::Stopped(stop.stop), stop.from_ns.max(from), stop.to_ns.min(to)));
            }
        }
    }
    let held = Intervals::by_key(held).into_iter();
    let of_process = held.map(|(state, time)| Claim::during(state, ThreadTime::from([(0, time)])));
    of_process.chain([Claim::during(waiting, Intervals::by_key(own))]).collect()
}

/// Whether a stop lasts longer because a thread cannot go on: the VM thread and the collector's do the
/// work of a stop, and a thread of Java is late at the safepoint.
fn holds_up(comparison: &Comparison<'_>, tid: i64, stop: &StopSpan) -> bool {
    match comparison.sources().role(tid) {
        role::VM => comparison.thread_name(tid) == "VM Thread",
        role::GC => stop.stop != Stop::TimeToSafepoint,
        role::COMPILER => false,
        _ => stop.stop == Stop::TimeToSafepoint,
    }
}

/// In which kinds of time some windows lie, for the threads that `is_held` chooses: stops first, then what
/// those threads waited for.
pub fn by_state(
    comparison: &Comparison<'_>,
    windows: &Intervals,
    is_held: impl Fn(i64) -> bool,
) -> Vec<(ThreadState, f64)> {
    let stops = comparison.analysis.account.stops.iter();
    let stops = stops.map(|stop| (ThreadState::Stopped(stop.stop), windows.within_ns(stop.from_ns, stop.to_ns)));
    let mut held: Vec<(ThreadState, f64)> = stops.map(|(state, ns)| (state, ns as f64)).collect();
    let stopped = &comparison.analysis.account.stopped;
    for (kind, state) in WAITS {
        let waits = comparison.sources().spans(kind).filter(|wait| is_held(wait.tid) && is_held_up(comparison, wait));
        held.extend(waits.map(|wait| {
            let (from, to) = (wait.time_ns, wait.end_ns());
            let is_in_a_stop = 2 * stopped.within_ns(from, to) >= to.saturating_sub(from);
            let ns = if is_in_a_stop { 0 } else { windows.within_ns(from, to) };
            (*state, ns as f64)
        }));
    }
    held.retain(|(_, ns)| *ns > 0.0);
    held
}

/// Spans in which a thread cannot go on, and where the account has that time.
const WAITS: &[(&str, ThreadState)] = &[
    (span::PAGE_FAULT, ThreadState::Blocked(Wait::PageFault)),
    (span::RUN_QUEUE_WAIT, ThreadState::Runnable),
    (span::SYSTEM_CALL, ThreadState::Blocked(Wait::File)),
    (span::MONITOR_ENTER, ThreadState::Blocked(Wait::Lock)),
    (span::ALLOCATION_STALL, ThreadState::Blocked(Wait::AllocationStall)),
];

/// A system call on something else than a file waits for work.
fn is_held_up(comparison: &Comparison<'_>, wait: &Span) -> bool {
    comparison.recording().text(wait.kind) != span::SYSTEM_CALL || comparison.sources().is_of_a_file(wait)
}
