//! Threads wait for connections to be made: the peer does not answer their attempts, or answers late.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::Wait;

use crate::measure::waits;
use crate::{Cause, Comparison, Family, Finding, Need, Refined};

pub(crate) static CAUSE: Cause = Cause {
    id: "connect_slow",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[Refined::Cause("slow_downstream")],
    equals: &[],
    has_lab: true,
    collectors: &["system_calls", "async_profiler", "sockets"],
    needs: &[&[Need::Spans(span::SYSTEM_CALL, "system_calls")]],
    actions: &[
        "check that the peer is up and that nothing on the way drops segments: firewall, security group, dead node behind a service's address, full accept queue of the peer",
        "set a connect timeout (a second instead of the system's two minutes), and keep connections open",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let names = ("connections to be made", "a connection");
    let rows = &[span::SYSTEM_CALL, span::BLOCKED];
    waits::finding(comparison, Wait::Connect, names, &to_whom(comparison), rows)
        .unwrap_or_else(|| waits::none_seen(comparison, NOT_RECORDED, NONE))
}

/// Used where no such wait was seen. Samples of the wall clock also have those that go on.
const NOT_RECORDED: &str = "how long attempts to connect took was not recorded";
const NONE: &str = "no thread was seen to wait long for a connection";

/// `; most of them to 10.0.0.5:5432`: whose answer was waited for most, as far as sockets were looked at.
fn to_whom(comparison: &Comparison<'_>) -> String {
    let attempts = comparison.sources().counters(counter::CONNECTING_COUNT);
    let waited = attempts.iter().map(|((peer, _), series)| (comparison.slow.max(series).unwrap_or(0.0), *peer));
    let most = waited.filter(|(count, _)| *count > 0.0).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    most.map_or_else(String::new, |(_, peer)| format!("; to {}", comparison.recording().text(peer)))
}
