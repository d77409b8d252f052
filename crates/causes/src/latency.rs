//! What is known of how long requests took.

use fathom_timeline::Requests;

use crate::comparison::Comparison;
use crate::limits::MIN_COVERED_SHARE;

/// Seconds in which requests were measured so exactly that quick ones say that the service was well, of all.
pub(crate) fn seconds(comparison: &Comparison<'_>) -> (usize, usize) {
    let requests = comparison.analysis.account.exact_requests();
    let known = requests.map_or(0, |requests| requests.count.iter().filter(|count| **count > 0.0).count());
    (known, comparison.sources().grid.len)
}

/// Whether those are all seconds, or nearly so.
pub(crate) fn are_nearly_all((known, all): (usize, usize)) -> bool {
    known as f64 >= MIN_COVERED_SHARE * all as f64
}

/// Whether it is known how long requests took, all the time or nearly so.
pub(crate) fn has_latency(comparison: &Comparison<'_>) -> bool {
    are_nearly_all(seconds(comparison))
}

/// Whether it is known how long requests took, and none took long.
pub(crate) fn are_requests_quick(comparison: &Comparison<'_>) -> bool {
    !comparison.is_slow() && has_latency(comparison) && !is_long_throughout(comparison)
}

/// Whether half of the requests took long from the first to the last second: no slowdown that a recording can show by itself;
/// nor is it known that they are well.
pub(crate) fn is_long_throughout(comparison: &Comparison<'_>) -> bool {
    comparison.analysis.account.requests.as_ref().is_some_and(Requests::are_long_throughout)
}
