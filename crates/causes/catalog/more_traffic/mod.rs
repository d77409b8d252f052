//! More requests arrive: everything grows in the same proportion.

use fathom_evidence::kinds::span;
use fathom_timeline::{Stop, ThreadState};

use crate::cause::Claim;
use crate::comparison::Period;
use crate::measure::collections::{allocation_evidence, allocation_rate, is_ordinary};
use crate::{Cause, Comparison, Finding, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "more_traffic",
    readme: include_str!("README.md"),
    refines: &["allocation_pressure"],
    has_lab: true,
    collectors: &[],
    actions: &["more instances or admission control; nothing below the application is wrong"],
    decide,
};

/// Growth of the arrival rate that matters.
const MIN_RATE_RATIO: f64 = 1.3;

/// How far apart two growth factors may be and still be the same proportion.
const PROPORTIONAL_WITHIN: f64 = 1.4;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let has_requests = comparison.sources().requests().next().is_some();
    match (
        has_requests,
        requests_per_second(&comparison.slow),
        comparison.baseline.as_ref().and_then(requests_per_second),
    ) {
        (true, Some(slow), Some(baseline)) if baseline > 0.0 => by_requests(comparison, slow, baseline),
        (true, ..) => Finding::unknown(
            "no quiet time to compare the number of requests with",
            "fathom explain … --baseline RECORDING",
        ),
        (false, ..) => by_proportion(comparison),
    }
}

/// Only the time from the first request that was written down to the last one counts: a latency file may begin later than
/// the recording, and seconds without any file are no seconds without requests.
fn requests_per_second(side: &Period<'_>) -> Option<f64> {
    let times: Vec<i64> = side.sources.requests().map(|request| request.from_ns).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let gaps = times.len().saturating_sub(1).max(1);
    // The last one stands for as much time as the others.
    let gap_ns = (last.saturating_sub(first) as f64 / gaps as f64).round() as i64;
    let counted_s = side.time.within_ns(first, last.saturating_add(gap_ns)) as f64 / 1e9;
    (counted_s > 0.0).then(|| requests_in(side) / counted_s)
}

fn requests_in(side: &Period<'_>) -> f64 {
    let within = side.sources.requests().filter(|request| side.time.contains(request.from_ns));
    0.0 + within.map(|request| request.weight).sum::<f64>()
}

fn by_requests(comparison: &Comparison<'_>, slow: f64, baseline: f64) -> Finding {
    let growth = slow / baseline;
    let evidence = comparison.evidence("requests", (slow, Some(baseline)), "1/s", "spans").of(&[span::REQUEST]);
    if growth < MIN_RATE_RATIO {
        let says = format!("{} requests per second, {} before", format::number(slow), format::number(baseline));
        return Finding::absent(says).with(evidence);
    }
    let says = format!("{} requests per second instead of {}", format::number(slow), format::number(baseline));
    let mut finding = Finding::new(Support::Observed, says).with(evidence);
    finding.claims = proportional(comparison, growth);
    finding
}

/// Without requests: CPU and allocation of the application that grow alike are what more work of
/// the same kind looks like.
fn by_proportion(comparison: &Comparison<'_>) -> Finding {
    let unknown =
        || Finding::unknown("the number of requests was not recorded", "fathom explain … --latency access.csv");
    let (running, running_before) = comparison.excess().sums(|state| matches!(state, ThreadState::Running(_)));
    let allocated = allocation_rate(&comparison.slow).zip(comparison.baseline.as_ref().and_then(allocation_rate));
    let Some((allocated, allocated_before)) = allocated.filter(|(_, before)| *before > 0.0) else { return unknown() };
    if running_before <= 0.0 {
        return unknown();
    }
    let (cpu, allocation) = (running / running_before, allocated / allocated_before);
    let cpu_evidence =
        comparison.cell_evidence("CPU of the application", "cores", |state| matches!(state, ThreadState::Running(_)));
    let evidence = [cpu_evidence, allocation_evidence(comparison, (allocated, Some(allocated_before)))];
    let alike = cpu.max(allocation) <= PROPORTIONAL_WITHIN * cpu.min(allocation);
    if cpu < MIN_RATE_RATIO || allocation < MIN_RATE_RATIO || !alike {
        let says =
            format!("CPU of the application × {}, allocation × {}", format::number(cpu), format::number(allocation));
        // Code that grew by itself looks like that, and so do requests of another kind: how many there were tells them apart.
        return match cpu < MIN_RATE_RATIO {
            true => Finding::absent(says).with_all(evidence),
            false => Finding { says, ..unknown() }.with_all(evidence),
        };
    }
    let says = format!(
        "CPU and allocation of the application grew alike (× {}, × {})",
        format::number(cpu),
        format::number(allocation)
    );
    let mut finding = Finding::new(Support::Consistent, says).with_all(evidence);
    finding.missing = unknown().missing;
    finding.claims = proportional(comparison, cpu.min(allocation));
    finding
}

/// What grows with the number of requests, by as much as that explains.
fn proportional(comparison: &Comparison<'_>, growth: f64) -> Vec<Claim> {
    let grows = |state: ThreadState| match state {
        ThreadState::Running(_) | ThreadState::Vm => true,
        ThreadState::Stopped(Stop::Collection(collection)) | ThreadState::Collector(collection) => {
            is_ordinary(collection)
        }
        _ => false,
    };
    let states = comparison.excess().states.iter().filter(|excess| grows(excess.state));
    states.map(|excess| Claim::part(excess.state, excess.baseline_ns * (growth - 1.0))).collect()
}
