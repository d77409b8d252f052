//! Stops as the JVM's performance counters tell them, which are read from outside some dozen times a second: how much of each step
//! between two readings was one.

use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;

use super::StopSpan;
use crate::scopes::stopping_scope;
use crate::sources::Sources;
use crate::states::{Collection, Origin, Stop};

/// No request notices a shorter stop, in ns.
const MIN_STOP_NS: i64 = 1_000_000;

/// Counters of one stop change at its beginning and at its end, and are read that often, in ns.
const READ_EVERY_NS: i64 = 50_000_000;

/// The time of collections.
pub(super) fn collections(sources: &Sources<'_>) -> Vec<StopSpan> {
    let runs: Vec<(i64, Origin)> =
        sources.spans(span::COLLECTOR_RUN).map(|run| (run.time_ns, origin_of(sources, &run))).collect();
    let mut stops = Vec::new();
    for ((collector, _), series) in sources.counters(counter::GC_TIME_NS) {
        let Some(scope) = stopping_scope(sources.recording.text(collector)) else { continue };
        for (from, to, ns) in series.rises() {
            let from_ns = to.saturating_sub(ns as i64).max(from);
            let before = runs.partition_point(|(at, _)| *at < to).checked_sub(1);
            let origin = before.map_or(Origin::Allocation, |run| runs[run].1);
            stops.push(StopSpan { from_ns, to_ns: to, stop: Stop::Collection(Collection { scope, origin }) });
        }
    }
    stops.sort_by_key(|stop| (stop.from_ns, stop.to_ns));
    stops
}

fn origin_of(sources: &Sources<'_>, run: &Span) -> Origin {
    let detail: Gc = from_text(sources.recording.text(run.detail));
    Origin::of_cause(detail.cause.as_deref().unwrap_or(""))
}

/// What stopped the application beside collections (`pauses`, in order): the time until threads had stopped, and what was done then.
pub(super) fn safepoints(sources: &Sources<'_>, pauses: &[StopSpan]) -> Vec<StopSpan> {
    let waits = steps(sources, counter::SAFEPOINT_SYNC_NS).into_iter();
    let waits = waits.map(|(to_ns, ns)| (to_ns, ns, Stop::TimeToSafepoint));
    let done = steps(sources, counter::SAFEPOINT_TIME_NS).into_iter().map(|(to_ns, ns)| {
        let from_ns = to_ns.saturating_sub(ns).saturating_sub(READ_EVERY_NS);
        let first = pauses.partition_point(|pause| pause.to_ns < from_ns);
        let near = pauses[first..].iter().take_while(|pause| pause.from_ns < to_ns.saturating_add(READ_EVERY_NS));
        (to_ns, ns.saturating_sub(near.map(StopSpan::duration_ns).sum()), Stop::Operation)
    });
    let stops = waits.chain(done).filter(|(_, ns, _)| *ns >= MIN_STOP_NS);
    stops.map(|(to_ns, ns, stop)| StopSpan { from_ns: to_ns.saturating_sub(ns), to_ns, stop }).collect()
}

/// The steps of such a counter: when it was seen to be higher, and by how much, in ns.
fn steps(sources: &Sources<'_>, name: &str) -> Vec<(i64, i64)> {
    // A JVM has one of each.
    sources.counter(name, "").rises().map(|(_, to, ns)| (to, ns as i64)).collect()
}
