//! Many child processes that each end too soon for their waits to be recorded one by one.

use fathom_evidence::kinds::counter;
use fathom_timeline::{ThreadState, Wait};

use crate::cause::Claim;
use crate::measure::syscalls::{self, ByThread};
use crate::measure::{growth, requests};
use crate::{Comparison, Finding, Support, format};

const WAITING: ThreadState = ThreadState::Blocked(Wait::ProcessBriefly);

/// Calls that return when a child has ended; a thread of the JVM's own makes them for each.
const ENDED: &[&str] = &["wait4", "waitid"];

/// Where fewer of the requests than this start a child, most are late for something else.
const MIN_CHILDREN_PER_REQUEST: f64 = 0.5;

/// What they cost; none where threads do not wait for children more than before.
pub(super) fn find(comparison: &Comparison<'_>) -> Option<Finding> {
    let grown_ns = comparison.grown_ns(WAITING);
    let waiting = comparison.state_evidence("threads in short waits for children", "threads", |state| state == WAITING);
    if grown_ns < comparison.material_ns() || !growth::grew((waiting.value, waiting.baseline)) {
        return None;
    }
    let (now, before) = syscalls::both(comparison, |period| {
        ByThread::of(period, counter::SYSTEM_CALLS_COUNT, ENDED).rise(period, |_| true) / period.seconds()
    });
    let text = format!(
        "{} threads wait for child processes on average{}, each wait too short to be recorded by itself; {} children end per second{}",
        format::number(waiting.value),
        format::baseline(waiting.baseline, format::number),
        format::number(now),
        format::baseline(before, format::number)
    );
    let ended = comparison.evidence("child processes that ended", (now, before), "1/s", "counters");
    let support =
        if before.is_some() && is_of_most_requests(comparison, now) { Support::Consistent } else { Support::Weak };
    let mut finding = Finding::new(support, text)
        .with(waiting.of(&[counter::BLOCKED_NS, counter::SYSTEM_CALLS_NS]))
        .with(ended.of(&[counter::SYSTEM_CALLS_COUNT]));
    finding.claims.push(Claim::part(WAITING, grown_ns));
    Some(finding)
}

/// Whether so many children end that most requests may have waited for one.
fn is_of_most_requests(comparison: &Comparison<'_>, children: f64) -> bool {
    requests::per_second(&comparison.slow).is_some_and(|requests| children >= MIN_CHILDREN_PER_REQUEST * requests)
}
