//! The container used up its CPU quota and was stopped until the next period.

use fathom_evidence::kinds::counter;
use fathom_timeline::{Intervals, Series, ThreadState};

use crate::measure::cpu_shortage;
use crate::signs::{self, Signs};
use crate::{Cause, Claim, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "cpu_quota_throttled",
    readme: include_str!("README.md"),
    family: Family::Machine,
    refines: &[
        Refined::Family(Family::Cpu),
        Refined::Family(Family::Barriers),
        Refined::Family(Family::Collections),
        Refined::Family(Family::Compiler),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Code),
        Refined::Cause("read_then_write_faults"),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["cgroup", "threads"],
    needs: &[&[Need::Counter(counter::CGROUP_THROTTLED_NS)]],
    actions: &["a higher CPU limit, or fewer threads that run at once (collector and compiler threads count too)"],
    decide,
};

/// How long the container was throttled is known from the JVM or the kernel; that its threads lost
/// that time is known only where the kernel counted their waits.
fn decide(comparison: &Comparison<'_>) -> Finding {
    let throttled = comparison.sources().counter_sum(counter::CGROUP_THROTTLED_NS);
    if throttled.0.len() < 2 {
        return Finding::needs_kernel("throttling of the container was not recorded");
    }
    if let Some(share) = Signs::of(comparison).throttled {
        return Finding::needs_requests(&format!(
            "throttled for up to {} of the time from the first to the last second: whether anybody felt it is not known",
            format::percent(share)
        ));
    }
    let ns = comparison.slow.rise(&throttled);
    if ns > 0.0 && signs::no_request_felt_the_quota(comparison) {
        return Finding::absent(format!("throttled for {} in all, which no request felt", format::time(ns)));
    }
    if ns <= 0.0 {
        return Finding::absent("the container was not throttled in the slow time");
    }
    let baseline = comparison.baseline.as_ref().map(|baseline| baseline.rise(&throttled) / baseline.seconds());
    let share = comparison
        .evidence("throttled", (ns / comparison.slow.seconds(), baseline), "ns/s", "counters")
        .of(&[counter::CGROUP_THROTTLED_NS]);
    let Some(waiting) = comparison.excess().of(ThreadState::Runnable) else {
        let says =
            format!("throttled for {} in the slow time, but which threads lost it was not recorded", format::time(ns));
        return Finding::needs_kernel(&says).with(share);
    };
    let says = format!(
        "the container was throttled for {} per second; its threads could have run but waited: {} threads on average",
        format::time(ns / comparison.slow.seconds()),
        format::number(waiting.slow_ns / comparison.excess().slow_ns.max(1.0))
    );
    let mut finding = Finding::new(Support::Observed, says).with(share);
    finding.claims.push(Claim::part(ThreadState::Runnable, at_most_ns(comparison, ns)));
    finding.when = when(&throttled);
    finding
}

/// Looks further apart than this do not tell when it was throttled, in ns.
const CLOSE_NS: i64 = 1_000_000_000;

/// When the container was throttled, as closely as the counter was read.
fn when(throttled: &Series) -> Option<Intervals> {
    let rises =
        throttled.rises().map(|(from, to, _)| (from, to)).filter(|(from, to)| to.saturating_sub(*from) <= CLOSE_NS);
    let when = Intervals::union(rises.collect());
    (when.total_ns() > 0).then_some(when)
}

/// While other processes leave a CPU free nothing but the quota makes a thread wait. On full CPUs it
/// accounts for its own length, once for each thread that is at work.
fn at_most_ns(comparison: &Comparison<'_>, throttled_ns: f64) -> f64 {
    let is_full = cpu_shortage(comparison).is_full() != Some(false);
    if is_full { throttled_ns * comparison.excess().concurrency } else { f64::INFINITY }
}
