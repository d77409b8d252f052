//! Whether requests waited for what ran: its samples are where requests were late, and hardly elsewhere.

use fathom_evidence::tables::Sample;
use fathom_timeline::{Intervals, Request, median};

use super::Growth;
use crate::Comparison;
use crate::measure::handling;

/// A request is late that takes this many times as long as is usual.
const LATE: f64 = 2.0;

/// As much more of it as chance would put there.
const MORE_THAN_CHANCE: f64 = 3.0;

/// The part of a method's samples that lie in late requests, from which on most do.
const MIN_SHARE_WHILE_LATE: f64 = 0.5;

/// Whether at least half of some samples of the slow time, and far more than chance puts there, were taken while a request was late.
/// Where all requests are late there is no other time, and it is not said of any sample.
pub(super) fn ran_while_late(comparison: &Comparison<'_>, samples: impl Iterator<Item = Sample>) -> bool {
    let Some(late) = late(comparison) else { return false };
    let part_of_time = late.total_ns() as f64 / 1e9 / comparison.slow.seconds();
    let (mut all, mut within) = (0_usize, 0_usize);
    for sample in samples {
        all += 1;
        within += usize::from(late.contains(sample.time_ns));
    }
    let part = within as f64 / all.max(1) as f64;
    within >= super::MIN_SAMPLES && part >= f64::max(MIN_SHARE_WHILE_LATE, MORE_THAN_CHANCE * part_of_time)
}

/// Whether at least half of what threads ran while they handled late requests is of the methods that grew: then the requests themselves
/// take longer for it, whatever ran beside them.
pub(super) fn is_what_requests_ran(comparison: &Comparison<'_>, growth: &Growth) -> bool {
    // Only requests that were measured at their sockets have threads. Latency of the clients does not replace them here.
    let measured = comparison.sources().traffic.measured_requests().copied();
    let late = late_requests(comparison, measured.collect()).unwrap_or_default();
    let handling = handling::times(late.iter());
    let is_within = |sample: &Sample| handling.get(&sample.tid).is_some_and(|time| time.contains(sample.time_ns));
    let (mut all, mut within) = (0, 0);
    for sample in comparison.slow.samples(growth.event).filter(is_within) {
        all += 1;
        within += usize::from(growth.is_of_grown(comparison, &sample));
    }
    within >= super::MIN_SAMPLES && 2 * within >= all
}

/// When some request was late, within the slow time.
fn late(comparison: &Comparison<'_>) -> Option<Intervals> {
    let late = late_requests(comparison, comparison.sources().traffic.requests().collect())?;
    let times = late.iter().map(|request| (request.from_ns, request.to_ns));
    Some(Intervals::union(times.collect()).intersect(&comparison.slow.time))
}

/// Those of some requests that took much longer than they did in the baseline.
fn late_requests(comparison: &Comparison<'_>, mut requests: Vec<Request>) -> Option<Vec<Request>> {
    let baseline = comparison.baseline.as_ref()?;
    let usual = requests.iter().filter(|request| baseline.time.contains(request.from_ns));
    let usual_ns = median(usual.map(|request| request.duration_ns() as f64).collect())?;
    requests.retain(|request| request.duration_ns() as f64 > LATE * usual_ns);
    Some(requests)
}
