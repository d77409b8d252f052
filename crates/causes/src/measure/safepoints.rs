//! Stops of which a log gives the length and nothing else.

use fathom_evidence::detail::Safepoint;
use fathom_evidence::kinds::span;
use fathom_timeline::{Stop, StopSpan};

use crate::comparison::Comparison;

/// Stops of the slow time that are no collections, of which neither the operation nor the time until all threads stood still was
/// recorded: JDK 8 logs their length alone, and JDK 7 too.
pub fn bare(comparison: &Comparison<'_>) -> Vec<StopSpan> {
    let safepoints: Vec<(i64, i64)> = (comparison.slow.spans(span::SAFEPOINT))
        .filter(|safepoint| {
            let detail: Safepoint = comparison.slow.detail(safepoint);
            detail.time_to_safepoint_ns.is_none() && comparison.recording().text(safepoint.name).is_empty()
        })
        .map(|safepoint| (safepoint.time_ns, safepoint.end_ns()))
        .collect();
    let is_bare = |stop: &&StopSpan| {
        let next = safepoints.partition_point(|(_, to_ns)| *to_ns < stop.to_ns);
        safepoints.get(next).is_some_and(|(from_ns, _)| *from_ns <= stop.from_ns)
    };
    comparison.slow_stops().filter(|stop| stop.stop == Stop::Operation).filter(is_bare).copied().collect()
}
