//! Waits for locks that had not ended when the recording did: a deadlock looks like that, and its waits are never recorded.

use std::collections::BTreeSet;

use fathom_evidence::detail::Wait as Detail;
use fathom_evidence::kinds::span;
use fathom_timeline::{Request, Segment};

use super::is_ours;
use crate::Comparison;

/// Samples of one wait that lie nearer to each other than this are of the same one, in ns.
const SAME_NS: i64 = 500_000_000;

/// A wait that lasts until so near to the end of the recording had not ended, in ns.
const END_NS: i64 = 1_000_000_000;

/// No thread holds a lock this long, in ns.
const LONG_NS: i64 = 5_000_000_000;

/// How many threads waited for a lock for long, and still did at the end.
pub(super) fn threads(comparison: &Comparison<'_>) -> usize {
    let partition = &comparison.analysis.account.partition;
    let own = || partition.recorded().filter(|(tid, _)| comparison.sources().is_application(*tid));
    // A request that another thread waited for may end later than what is known of threads.
    let end_ns = own().filter_map(|(_, recorded)| recorded.last()).map(|last| last.to_ns).max().unwrap_or(0);
    own().filter(|(_, recorded)| waits_until(comparison, recorded, end_ns)).count()
}

/// How many threads the JVM found in a deadlock, as it says in thread dumps.
pub(super) fn deadlocked(comparison: &Comparison<'_>) -> usize {
    let waits = comparison.sources().spans(span::SAMPLED_WAIT);
    let found = waits.filter(|wait| comparison.slow.detail::<Detail>(wait).deadlock == Some(true));
    found.map(|wait| wait.tid).collect::<BTreeSet<_>>().len()
}

/// Whether requests had taken long and were not answered when the recording ended: what their threads waited for then, the JVM has not
/// written down.
pub(super) fn may_be_unwritten(comparison: &Comparison<'_>) -> bool {
    // Requests that another thread waited for may end later than the recorder did.
    let (_, end_ns) = comparison.sources().observed_ns;
    let is_open = |request: Request| request.to_ns >= end_ns && end_ns.saturating_sub(request.from_ns) >= LONG_NS;
    comparison.sources().traffic.requests().any(is_open) && comparison.sources().spans(span::BLOCKED).len() == 0
}

fn waits_until(comparison: &Comparison<'_>, recorded: &[Segment], end_ns: i64) -> bool {
    let mut waits = recorded.iter().rev();
    let Some(last) = waits.next().filter(|last| is_ours(last.state) && end_ns.saturating_sub(last.to_ns) < END_NS)
    else {
        return false;
    };
    let mut from_ns = last.from_ns;
    // Consecutive thread dumps may show one wait, or two for one lock: they say which.
    let looks = last.row.and_then(|row| {
        let wait = comparison.recording().spans.row(row as usize);
        comparison.slow.detail::<Detail>(&wait).looks
    });
    if looks.is_some() {
        return looks > Some(1) && last.length_ns() >= LONG_NS;
    }
    for wait in waits.take_while(|wait| is_ours(wait.state)) {
        if from_ns.saturating_sub(wait.to_ns) >= SAME_NS {
            break;
        }
        from_ns = wait.from_ns;
    }
    last.to_ns.saturating_sub(from_ns) >= LONG_NS
}
