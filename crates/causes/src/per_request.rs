//! Lost time in the unit of those who wait: per request.

use fathom_timeline::{Scope, ThreadState};

use crate::chains::Judged;
use crate::comparison::Comparison;
use crate::explanation::{Cost, Evidence};
use crate::measure::requests::{are_multiplexed, arrivals_per_second};
use crate::period::Period;

/// The number of fewer requests is chance.
const MIN_REQUESTS: f64 = 20.0;

/// What began in the slow time, and is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Begun {
    /// So many requests.
    Requests(f64),
    /// So often data came to the port that got most of it. Requests that share connections are not known one by one.
    Arrivals(f64),
}

impl Begun {
    /// Of the slow time of a comparison; none of a few, and where requests are not what the process works on.
    fn of(comparison: &Comparison<'_>) -> Option<Begun> {
        let begun = match comparison.analysis.account.requests_as_work() {
            Some(_) => Begun::Requests(requests(&comparison.slow).0),
            None if are_multiplexed(comparison) => {
                Begun::Arrivals(arrivals_per_second(&comparison.slow)? * comparison.slow.seconds())
            }
            None => return None,
        };
        (comparison.is_slow() && begun.count() >= MIN_REQUESTS).then_some(begun)
    }

    fn count(self) -> f64 {
        let (Begun::Requests(count) | Begun::Arrivals(count)) = self;
        count
    }

    /// What one of them is.
    fn name(self) -> &'static str {
        match self {
            Begun::Requests(_) => "request",
            Begun::Arrivals(_) => "arrival of data",
        }
    }
}

/// Says of each cause how much of its time there was per request.
pub(crate) fn add(comparison: &Comparison<'_>, causes: &mut [Judged]) {
    let Some(begun) = Begun::of(comparison) else { return };
    for cause in causes.iter_mut().filter(|cause| cause.verdict.share > 0.0) {
        let waited_for = cause.taken.iter().filter(|(state, _)| is_waited_for(comparison, *state));
        let ns = waited_for.map(|(_, ns)| ns).sum::<f64>() / begun.count();
        cause.verdict.cost = Some(Cost { ns, per: begun.name().to_owned() });
    }
}

/// Whether requests wait for as long as it takes. What a collector runs in its pauses costs them no more than these, and what it runs
/// beside them nothing while there are CPUs for both: then it is lost time only as far as requests are known to be late.
fn is_waited_for(comparison: &Comparison<'_>, state: ThreadState) -> bool {
    match state {
        ThreadState::Collector(collection) => {
            collection.scope == Scope::Concurrent && comparison.analysis.account.lateness.is_some()
        }
        _ => true,
    }
}

/// How long requests took on average, and what of it threads lost: what is queued where no thread waits is in the first only.
pub(crate) fn figures(comparison: &Comparison<'_>) -> Vec<Evidence> {
    let Some(begun) = Begun::of(comparison) else { return Vec::new() };
    let waited_for = comparison.excess().states.iter().filter(|excess| is_waited_for(comparison, excess.state));
    let lost_ns = waited_for.map(|excess| excess.lost_ns()).sum::<f64>();
    let says = format!("lost per {}", begun.name());
    let lost = comparison.evidence(&says, (lost_ns / begun.count(), None), "ns", "account");
    if let Begun::Arrivals(_) = begun {
        return vec![lost];
    }
    let mean = |period: &Period<'_>| {
        let (count, sum_ns) = requests(period);
        (count > 0.0).then(|| sum_ns / count)
    };
    // Requests to other ports say nothing about these.
    let has_same_port = comparison.analysis.baseline_recording.as_ref().is_none_or(|other| other.has_same_port);
    let baseline = comparison.baseline.as_ref().filter(|_| has_same_port).and_then(mean);
    let means = (mean(&comparison.slow).unwrap_or(0.0), baseline);
    vec![comparison.evidence("request latency, mean", means, "ns", "spans"), lost]
}

/// Requests that began in some time: how many, and how long they took together, in ns.
fn requests(period: &Period<'_>) -> (f64, f64) {
    let begun = period.sources.traffic.requests().filter(|request| period.time.contains(request.from_ns));
    begun.fold((0.0, 0.0), |(count, sum_ns), request| {
        (count + request.weight, sum_ns + request.weight * request.duration_ns() as f64)
    })
}
