//! The container used up its CPU quota and was stopped until the next period.

use fathom_evidence::kinds::counter;

use crate::{Case, Cause, Finding, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "cpu_quota_throttled",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["cgroup"],
    actions: &["a higher CPU limit, or fewer threads that run at once (collector and compiler threads count too)"],
    decide,
};

/// How long the container was throttled is known from JFR; which threads lost that time is not, so
/// that this can be ruled out here but not be shown.
fn decide(case: &Case<'_>) -> Finding {
    let throttled = case.view().counter(counter::CGROUP_THROTTLED_NS, "");
    if throttled.0.len() < 2 {
        return Finding::needs_kernel("throttling of the container was not recorded");
    }
    let ns = case.slow.rise(&throttled);
    if ns <= 0.0 {
        return Finding::absent("the container was not throttled in the slow time");
    }
    let quiet = case.quiet.as_ref().map(|quiet| quiet.rise(&throttled) / quiet.seconds());
    let share = case.evidence("throttled", (ns / case.slow.seconds(), quiet), "ns/s", "counters");
    let says = format!("throttled for {} in the slow time, but which threads lost it was not recorded", say::time(ns));
    Finding::needs_kernel(&says).with(share)
}
