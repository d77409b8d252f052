//! How many requests there were.

use fathom_evidence::kinds::counter;
use fathom_timeline::{Flaw, requests_count};

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

/// Whether most requests share connections, so that those that are known one by one say nothing of all.
pub fn are_multiplexed(comparison: &Comparison<'_>) -> bool {
    let account = &comparison.analysis.account;
    matches!(account.requests_flaw, Some(Flaw::Multiplexed(_))) && account.requests_as_work().is_none()
}

/// How often per second data came to the port that got most requests; none where that was not counted.
pub fn arrivals_per_second(period: &Period<'_>) -> Option<f64> {
    let port = period.sources.traffic.ports().first()?;
    let came = period.sources.counter(counter::DATA_ARRIVALS_COUNT, period.sources.recording.text(port.name));
    (came.0.len() > 1).then(|| period.rise(&came) / period.seconds())
}

/// By how much longer than in the baseline the requests of the slow time took, summed up, in ns.
pub fn longer_ns(comparison: &Comparison<'_>) -> Option<f64> {
    let (count, sum_ns) = sum_of(&comparison.slow);
    let (usual_count, usual_sum_ns) = sum_of(comparison.baseline.as_ref()?);
    (count > 0.0 && usual_count > 0.0).then(|| sum_ns - count * usual_sum_ns / usual_count)
}

/// How many requests began in a period, and the sum of their lengths in ns.
pub fn sum_of(period: &Period<'_>) -> (f64, f64) {
    let within = period.sources.traffic.requests().filter(|request| period.time.contains(request.from_ns));
    within.fold((0.0, 0.0), |(count, sum_ns), one| (count + one.weight, sum_ns + one.weight * one.counted_ns as f64))
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
