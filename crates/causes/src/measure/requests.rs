//! How many requests there were.

use fathom_timeline::requests_count;

use crate::comparison::Comparison;
use crate::period::Period;

/// A quantity that grew with the requests within this factor is as large for each of them as before.
const ALIKE_WITHIN: f64 = 1.3;

/// Requests per second. Only the time from the first request that was written down to the last one counts: a latency file may
/// begin later than the recording, and seconds without any file are no seconds without requests.
pub fn per_second(period: &Period<'_>) -> Option<f64> {
    let times: Vec<i64> = period.sources.traffic.requests().map(|request| request.from_ns).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let gaps = times.len().saturating_sub(1).max(1);
    // The last one stands for as much time as the others.
    let gap_ns = (last.saturating_sub(first) as f64 / gaps as f64).round() as i64;
    let counted_s = period.time.within_ns(first, last.saturating_add(gap_ns)) as f64 / 1e9;
    let within = period.sources.traffic.requests().filter(|request| period.time.contains(request.from_ns));
    (counted_s > 0.0).then(|| requests_count(within) / counted_s)
}

/// Whether a rate grew because there were more requests, as far as these were counted.
pub fn grew_with(comparison: &Comparison<'_>, (slow, baseline): (f64, Option<f64>)) -> bool {
    let requests = per_second(&comparison.slow).zip(comparison.baseline.as_ref().and_then(per_second));
    match (requests, baseline) {
        (Some((now, before)), Some(baseline)) if before > 0.0 && baseline > 0.0 => {
            slow / baseline <= ALIKE_WITHIN * (now / before)
        }
        _ => false,
    }
}
