//! Stops for which a log gives the length and nothing else.

use fathom_evidence::detail::Safepoint;
use fathom_evidence::kinds::span;
use fathom_timeline::{Intervals, Stop, StopSpan};

use crate::comparison::Comparison;

/// Stops of the slow time that are no collections, with neither the operation nor the time until all threads stood still
/// recorded: JDK 8 logs their length alone, and JDK 7 too.
pub fn bare(comparison: &Comparison<'_>) -> Vec<StopSpan> {
    let safepoints = comparison.slow.spans(span::SAFEPOINT).filter(|safepoint| {
        let detail: Safepoint = comparison.slow.detail(safepoint);
        detail.time_to_safepoint_ns.is_none() && comparison.recording().text(safepoint.name).is_empty()
    });
    // Lines without a time of their own begin together, and end in any order.
    let bare = Intervals::union(safepoints.map(|safepoint| (safepoint.time_ns, safepoint.end_ns())).collect());
    let is_bare = |stop: &&StopSpan| bare.within_ns(stop.from_ns, stop.to_ns) == stop.duration_ns();
    comparison.slow_stops().filter(|stop| stop.stop == Stop::Operation).filter(is_bare).copied().collect()
}
