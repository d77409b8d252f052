//! Pauses of which only the count and the total time are known, between two readings of both.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

/// More pauses than this between two looks are so many that are longer.
const PAUSES_MAX: i64 = 1_000;

/// The pauses that there were from one time to another: as many as there were, each as long as their mean, evenly up to the end.
pub(crate) fn add(
    recording: &mut Recording,
    (from_ns, to_ns): (i64, i64),
    (count, in_all_ns): (f64, i64),
    detail: &str,
    source: &str,
) {
    if in_all_ns <= 0 {
        return;
    }
    let count = (count as i64).clamp(1, PAUSES_MAX);
    let length_ns = in_all_ns / count;
    // One pause may be longer than the time between two looks, during which the number had risen already.
    let step_ns = (to_ns.saturating_sub(from_ns) / count).max(length_ns);
    for back in 0..count {
        let end_ns = to_ns.saturating_sub(step_ns.saturating_mul(back));
        recording.add_span(end_ns.saturating_sub(length_ns), length_ns, 0, span::GC_PAUSE, "", detail, source);
    }
}
