//! More requests arrive: everything grows in the same proportion.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Stop, ThreadState};

use crate::cause::Claim;
use crate::measure::collections::{allocation_evidence, allocation_rate, is_ordinary};
use crate::measure::requests;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "more_traffic",
    readme: include_str!("README.md"),
    family: Family::Load,
    refines: &[Refined::Cause("allocation_pressure")],
    equals: &[],
    has_lab: true,
    collectors: &[],
    needs: &[&[Need::Requests]],
    actions: &["more instances or admission control; nothing below the application is wrong"],
    decide,
};

/// Growth of the arrival rate that matters.
const MIN_RATE_RATIO: f64 = 1.3;

/// How far apart two growth factors may be and still be the same proportion.
const PROPORTIONAL_WITHIN: f64 = 1.4;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let is_shared = requests::are_multiplexed(comparison);
    let per_second = if is_shared { requests::arrivals_per_second } else { requests::per_second };
    let rates = comparison.baseline.as_ref().and_then(per_second).zip(per_second(&comparison.slow));
    let has_requests = !is_shared && comparison.sources().traffic.requests().next().is_some();
    match (has_requests, rates) {
        (_, Some((baseline, slow))) if baseline > 0.0 => {
            let of = if is_shared {
                ("arrivals of data", counter::DATA_ARRIVALS_COUNT)
            } else {
                ("requests", span::REQUEST)
            };
            by_requests(comparison, (slow, baseline), of)
        }
        (true, _) => Finding::unknown(
            "no baseline to compare the number of requests with",
            "fathom explain … --baseline RECORDING",
        ),
        (false, _) => by_proportion(comparison),
    }
}

/// By how many of what is counted came per second.
fn by_requests(
    comparison: &Comparison<'_>,
    (slow, baseline): (f64, f64),
    (many, kind): (&str, &'static str),
) -> Finding {
    let growth = slow / baseline;
    let table = if kind == span::REQUEST { "spans" } else { "counters" };
    let evidence = comparison.evidence(many, (slow, Some(baseline)), "1/s", table).of(&[kind]);
    if growth < MIN_RATE_RATIO {
        let says = format!("{} {many} per second (baseline {})", format::number(slow), format::number(baseline));
        return Finding::absent(says).with(evidence);
    }
    let says = format!("{} {many} per second instead of {}", format::number(slow), format::number(baseline));
    let claims = proportional(comparison, growth);
    let is_stopped = claims.iter().any(|claim| matches!(claim.state, ThreadState::Stopped(_)));
    if comparison.process_use().is_none() && !is_stopped {
        let says = format!("{says}; what CPU they took was not recorded");
        return Finding::needs_kernel(&says).with(evidence);
    }
    let mut finding = Finding::new(Support::Observed, says).with(evidence);
    finding.claims = claims;
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
        comparison.state_evidence("CPU of the application", "cores", |state| matches!(state, ThreadState::Running(_)));
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
