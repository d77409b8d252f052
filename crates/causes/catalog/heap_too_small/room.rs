//! How much of the heap was in use, and its maximum.

use fathom_evidence::detail::Gc;
use fathom_evidence::kinds::span;
use fathom_timeline::used_share;

use crate::Comparison;
use crate::measure::collections::{heap_occupancy_after, sizes};
use crate::measure::median;

/// The young generation as a part of what is free of the heap after collections, where it has a size of its own: G1 makes it small when
/// there is little room.
pub(super) fn young_of_free(comparison: &Comparison<'_>) -> Option<f64> {
    let is_g1 = |gc: &Gc| gc.collector.as_deref().is_some_and(|name| name.starts_with("G1"));
    if comparison.slow.young_pauses().any(|(_, detail)| is_g1(&detail)) {
        return None;
    }
    let (young, heap) = sizes(comparison)?;
    let free = heap * (1.0 - heap_occupancy_after(comparison)?);
    (free > 0.0).then(|| young / free)
}

/// How full the heap, or its old generation, was before the full collections of the slow time: the fuller of both, and of these the
/// middle. The sizes of a collection are those that it left: what it began with, the pause before it left.
pub(super) fn filled_before_full(comparison: &Comparison<'_>) -> Option<f64> {
    let (mut heap_bytes, mut old_bytes, mut filled) = (None, None, Vec::new());
    for pause in comparison.sources().spans(span::GC_PAUSE) {
        let detail: Gc = comparison.slow.detail(&pause);
        if detail.scope.as_deref() == Some("full") && comparison.slow.has(pause.time_ns, pause.end_ns()) {
            let heap = used_share(detail.heap_before_bytes, heap_bytes.or(detail.heap_committed_bytes));
            let old = used_share(detail.old_before_bytes, old_bytes.or(detail.old_capacity_bytes));
            filled.extend(heap.into_iter().chain(old).max_by(f64::total_cmp));
        }
        heap_bytes = detail.heap_committed_bytes.or(heap_bytes);
        old_bytes = detail.old_capacity_bytes.or(old_bytes);
    }
    median(filled)
}

/// Whether the heap may still grow, as its limit is not recorded (a log that is cut at its head) and its size changed: how full it is
/// says little then.
pub(super) fn may_grow(comparison: &Comparison<'_>) -> bool {
    let mut sizes = comparison.slow.pauses().filter_map(|(_, detail)| detail.heap_committed_bytes);
    let first = sizes.next();
    comparison.sources().flag("MaxHeapSize").is_none() && sizes.last() > first
}
