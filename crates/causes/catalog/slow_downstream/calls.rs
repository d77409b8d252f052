//! Services whose calls were measured at their sockets.

use std::collections::HashMap;

use fathom_evidence::kinds::span;

use super::is_ours;
use crate::explanation::Evidence;
use crate::measure::calls::{self, Calls, Slowest};
use crate::measure::{growth, waits};
use crate::period::Period;
use crate::{Comparison, Finding, Support};

/// That no other service was called while it was slow, where each call is measured: at other times there were some. One that shares a
/// connection with others is a call, too.
pub(super) fn none(comparison: &Comparison<'_>) -> Option<Finding> {
    let sources = comparison.sources();
    let is_measured = sources.spans(span::CALL).len() > 0 && !sources.traffic.are_calls_coarse();
    let mut called = comparison.slow.spans(span::CALL).map(|call| comparison.recording().text(call.name));
    let is_seen = is_measured && !called.any(is_service);
    is_seen.then(|| Finding::absent("no other service was called in the slow time, measured at the sockets"))
}

/// The answer, if calls were measured and cover the cause: calls without a socket of their own, or on a socket shared with
/// other calls, are not included.
pub(super) fn finding(comparison: &Comparison<'_>, waiting: &Evidence) -> Option<Finding> {
    let slow = calls::by_peer(&comparison.slow, is_service);
    let slowest = calls::slowest(comparison, &slow, is_service)?;
    if slowest.support(comparison) == Support::Absent {
        let absent = || Finding::absent(slowest.says()).with(waiting.clone()).with(slowest.mean(comparison));
        return are_all_waits(comparison, &slow).then(absent);
    }
    Some(slower(comparison, &slowest, waiting))
}

/// The same for calls found by polling connections, where a service became slower.
pub(super) fn coarse(comparison: &Comparison<'_>, waiting: &Evidence) -> Option<Finding> {
    Some(slower(comparison, &calls::slowest_of_coarse(comparison, is_service)?, waiting))
}

/// Whether more calls per second were measured than in the baseline.
pub(super) fn are_more(comparison: &Comparison<'_>) -> bool {
    let per_second = |period: &Period<'_>| {
        let calls = calls::by_peer(period, is_service);
        0.0 + calls.values().map(|calls| calls.count).sum::<f64>() / period.seconds()
    };
    let (now, before) = comparison.both(per_second);
    now > 0.0 && growth::grew((now, before))
}

/// Whether calls that looks at connections found take as long as in the baseline, on average: then there are more of them, or threads wait
/// for something else.
pub(super) fn are_as_long(comparison: &Comparison<'_>) -> bool {
    const MIN_CALLS: f64 = 100.0;
    let (now, before) = calls::coarse(comparison, is_service);
    let is_known = |calls: &Calls| calls.count >= MIN_CALLS && calls.is_mean_known();
    let as_long = |(peer, now): (&&str, &Calls)| {
        let usual = before.as_ref().and_then(|before| before.get(peer)).filter(|usual| is_known(usual));
        is_known(now) && usual.is_some_and(|usual| now.mean_ns() < calls::SLOWER * usual.mean_ns())
    };
    !now.is_empty() && now.iter().all(as_long)
}

fn slower(comparison: &Comparison<'_>, slowest: &Slowest<'_>, waiting: &Evidence) -> Finding {
    let (support, mean) = (slowest.support(comparison), slowest.mean(comparison));
    let mut says = format!("{}: delays of this process are not in it", slowest.says());
    if slowest.may_lack_cpus(comparison) {
        says += "; it is on this host, where other processes took the CPUs: perhaps it waited for them";
    }
    let mut finding = Finding::new(support, says).with(waiting.clone()).with(mean).claiming(comparison, is_ours);
    // Threads that wait for a client library do so under another name; as much of that as the peer took longer is its.
    finding.claims.extend(waits::for_calls_of_others(comparison, slowest.added_ns()));
    // If requests were late but no waiting thread was seen, the calls made within them are known.
    let in_requests_ns = calls::longer_in_requests_ns(comparison, slowest);
    finding.claims.extend(waits::for_calls_in_requests(comparison, in_requests_ns));
    finding
}

/// Who resolves names is a cause of its own.
fn is_service(peer: &str) -> bool {
    !calls::is_name_server(peer)
}

/// Waiting for services, times the length of the calls that were measured, up to which it is these calls': several threads may wait for one.
const NO_MORE_THAN_CALLS: f64 = 2.0;

/// Whether the calls are what threads waited for services for: else some service was not measured.
fn are_all_waits(comparison: &Comparison<'_>, calls: &HashMap<&str, Calls>) -> bool {
    let waited_ns = comparison.excess().sums(is_ours).0;
    let called_ns: f64 = calls.values().map(|calls| calls.until_read_ns).sum();
    waited_ns <= NO_MORE_THAN_CALLS * called_ns
}
