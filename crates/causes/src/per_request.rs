//! What a cause costs in the unit of those who wait: per request.
//!
//! Where requests were measured it is the part of the cause of how much longer they took, on average, than in the baseline: whatever
//! stands in line because of it belongs to it. Where several requests share a connection only their number is known: then it is
//! what threads lost for each, and how long a stop delays what comes in it.

use fathom_timeline::{Flaw, SignalKind, ThreadState};

use crate::chains::Judged;
use crate::comparison::Comparison;
use crate::explanation::{Cost, Evidence};
use crate::measure::requests::{are_multiplexed, arrivals_per_second, sum_of};
use crate::period::Period;

/// The mean of fewer requests is chance.
const MIN_REQUESTS: f64 = 20.0;

/// Says of each cause how much of its time there was per request.
pub(crate) fn add(comparison: &Comparison<'_>, causes: &mut [Judged]) {
    let later_ns = means(comparison).and_then(|(slow_ns, usual_ns)| Some(slow_ns - usual_ns?));
    let arrivals = arrivals(comparison);
    for cause in causes.iter_mut().filter(|cause| cause.verdict.share > 0.0) {
        let of_request = later_ns.map(|ns| (cause.verdict.share * ns, "request"));
        let of_arrival = || arrivals.map(|count| (lost_ns(comparison, &cause.taken, count), "arrival of data"));
        let cost = of_request.or_else(of_arrival).filter(|(ns, _)| *ns > 0.0);
        cause.verdict.cost = cost.map(|(ns, per)| Cost { ns, per: per.to_owned() });
    }
}

/// How long requests took on average; or what was lost for each, where only their number is known.
pub(crate) fn figure(comparison: &Comparison<'_>) -> Option<Evidence> {
    if let Some(means) = means(comparison) {
        return Some(comparison.evidence("request latency, mean", means, "ns", "spans"));
    }
    let count = arrivals(comparison)?;
    let lost: Vec<(ThreadState, f64)> =
        comparison.excess().states.iter().map(|excess| (excess.state, excess.lost_ns())).collect();
    let each_ns = lost_ns(comparison, &lost, count);
    Some(comparison.evidence("lost per arrival of data", (each_ns, None), "ns", "account"))
}

/// Mean latency of the requests that began in the slow time and in the baseline, in ns, where they are the work of the process. Means
/// that differ by less than how exactly requests were measured say nothing.
fn means(comparison: &Comparison<'_>) -> Option<(f64, Option<f64>)> {
    let account = &comparison.analysis.account;
    account.requests_as_work().filter(|_| comparison.is_slow() && !is_by_arrivals(comparison))?;
    let uncertain_ns = match account.requests_flaw {
        None | Some(Flaw::Multiplexed(_)) => 0.0,
        Some(Flaw::Coarse { uncertain_ns, .. }) => uncertain_ns,
        Some(Flaw::Few | Flaw::Contradicted { .. }) => return None,
    };
    // Requests to other ports say nothing about these.
    let has_same_port = comparison.analysis.baseline_recording.as_ref().is_none_or(|other| other.has_same_port);
    let baseline = comparison.baseline.as_ref().filter(|_| has_same_port).and_then(mean_ns);
    let (slow_ns, count) = mean_ns(&comparison.slow)?;
    let (usual_ns, least_count) = baseline.map_or((0.0, count), |(ns, usual_count)| (ns, count.min(usual_count)));
    // The errors of single ones cancel out; what is left is well below this.
    let least_ns = uncertain_ns / least_count.sqrt();
    (slow_ns - usual_ns >= least_ns).then_some((slow_ns, baseline.map(|(ns, _)| ns)))
}

/// The mean latency, and of how many.
fn mean_ns(period: &Period<'_>) -> Option<(f64, f64)> {
    let (count, sum_ns) = sum_of(period);
    (count >= MIN_REQUESTS).then(|| (sum_ns / count, count))
}

/// Whether the slow time is that in which arrivals of data cost more: the requests that were measured are not those that were late.
fn is_by_arrivals(comparison: &Comparison<'_>) -> bool {
    comparison.slowdown.signals.contains(&SignalKind::TimeInService)
}

/// How often data came in the slow time to the port that got most, where requests share connections.
fn arrivals(comparison: &Comparison<'_>) -> Option<f64> {
    let is_meant = comparison.is_slow() && (are_multiplexed(comparison) || is_by_arrivals(comparison));
    let count = arrivals_per_second(&comparison.slow).filter(|_| is_meant)? * comparison.slow.seconds();
    (count >= MIN_REQUESTS).then_some(count)
}

/// What of some lost time is lost for each of so many requests, in ns.
fn lost_ns(comparison: &Comparison<'_>, lost: &[(ThreadState, f64)], count: f64) -> f64 {
    let each = |(state, ns): &(ThreadState, f64)| match state {
        ThreadState::Stopped(_) => {
            let all_ns = comparison.excess().of(*state).map_or(0.0, |excess| excess.lost_ns());
            delayed_ns(comparison, *state) * ns / all_ns.max(1.0)
        }
        // Work beside the application holds up only who needs its CPU, and waits for one.
        ThreadState::Collector(_) | ThreadState::Compiler => 0.0,
        _ => ns / count,
    };
    lost.iter().map(each).sum()
}

/// By how much stops delay what comes at random times, on average, in ns: what comes in one waits for half of it.
fn delayed_ns(comparison: &Comparison<'_>, state: ThreadState) -> f64 {
    let stops = comparison.slow_stops().filter(|stop| ThreadState::Stopped(stop.stop) == state);
    let lengths = stops.map(|stop| comparison.slow.time.within_ns(stop.from_ns, stop.to_ns) as f64);
    lengths.map(|ns| ns * ns / 2.0).sum::<f64>() / comparison.slow.time.total_ns().max(1) as f64
}
