//! Calls that were measured at their sockets: what the other side took, whatever this process did meanwhile.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_timeline::{Call, ThreadState, Wait};

use super::{SLOWER, is_ours};
use crate::comparison::Period;
use crate::explanation::Evidence;
use crate::{Claim, Comparison, Finding, Support, format};

/// Calls of one peer.
#[derive(Default, Clone, Copy)]
struct Calls {
    count: f64,
    total_ns: f64,
    longest_ns: i64,
    /// The same time with that in which answers lay unread.
    until_read_ns: f64,
}

impl Calls {
    fn mean_ns(&self) -> f64 {
        self.total_ns / self.count.max(1.0)
    }

    fn add(&mut self, call: &Call) {
        self.count += call.weight;
        self.total_ns += call.peer_ns as f64 * call.weight;
        self.until_read_ns += call.to_ns.saturating_sub(call.from_ns).max(0) as f64 * call.weight;
        self.longest_ns = self.longest_ns.max(call.peer_ns);
    }
}

/// Waits for what a library waits out on another thread; which call each of them is for nobody knows.
const ON_ANOTHERS_BEHALF: [ThreadState; 2] = [ThreadState::Blocked(Wait::Task), ThreadState::Blocked(Wait::Unnamed)];

/// The answer, where calls were measured and tell what there is to be told: what has no socket of its own, or shares one with
/// other calls, is not among them.
pub(super) fn finding(comparison: &Comparison<'_>, waiting: &Evidence) -> Option<Finding> {
    let slow = by_peer(&comparison.slow);
    let before = comparison.baseline.as_ref().map(by_peer);
    let usual_ns = |peer: &str| before.as_ref().and_then(|before| before.get(peer)).map(Calls::mean_ns);
    let added_ns = |(peer, calls): &(&&str, &Calls)| {
        let more_ns = calls.mean_ns() - usual_ns(peer).unwrap_or(0.0);
        (more_ns * calls.count, calls.total_ns)
    };
    let (peer, calls) =
        slow.iter().max_by(|a, b| added_ns(a).partial_cmp(&added_ns(b)).unwrap_or(a.0.cmp(b.0).reverse()))?;
    let usual_ns = usual_ns(peer);
    let name = *peer;
    let mean = comparison
        .evidence(&format!("mean answer of {name}"), (calls.mean_ns(), usual_ns), "ns", "spans")
        .of(&[span::CALL]);
    let support = match usual_ns {
        Some(usual_ns) if calls.mean_ns() < SLOWER * usual_ns => {
            let says = format!(
                "{name} answers after {} as before ({}), measured at the sockets",
                format::time(calls.mean_ns()),
                format::time(usual_ns)
            );
            return are_all_waits(comparison, &slow).then(|| Finding::absent(says).with(waiting.clone()).with(mean));
        }
        // The other side may be on this machine.
        _ if comparison.taken_by_others().is_some() => Support::Weak,
        Some(_) => Support::Observed,
        None => Support::Consistent,
    };
    let before = usual_ns.map_or(String::new(), |ns| format!(" instead of {}", format::time(ns)));
    let says = format!(
        "{name} answers after {}{before} on average ({}, the longest {}), measured at the sockets: delays of this process are \
         not in it",
        format::time(calls.mean_ns()),
        format::count(calls.count.round() as usize, "call"),
        format::time(calls.longest_ns as f64)
    );
    let finding = Finding::new(support, says).with(waiting.clone()).with(mean).claiming(comparison, is_ours);
    Some(claiming_for_others(finding, comparison, added_ns(&(peer, calls)).0))
}

/// What a period has of each peer, by its name: that is the same in another recording.
fn by_peer<'a>(side: &Period<'a>) -> HashMap<&'a str, Calls> {
    let mut peers: HashMap<&str, Calls> = HashMap::new();
    let is_here = |call: &&Call| {
        let to_ns = call.from_ns.saturating_add(call.peer_ns);
        side.time.touches(call.from_ns, to_ns) && !side.except.touches(call.from_ns, to_ns)
    };
    for call in side.sources.calls().iter().filter(is_here) {
        peers.entry(side.sources.recording.text(call.peer)).or_default().add(call);
    }
    peers
}

/// Whether the calls are what threads waited for services for: else some service was not measured.
fn are_all_waits(comparison: &Comparison<'_>, calls: &HashMap<&str, Calls>) -> bool {
    let waited_ns = comparison.excess().sums(is_ours).0;
    let called_ns: f64 = calls.values().map(|calls| calls.until_read_ns).sum();
    waited_ns <= 2.0 * called_ns
}

/// Threads that wait for a client library do so under another name; as much of that as peers took longer is theirs.
fn claiming_for_others(mut finding: Finding, comparison: &Comparison<'_>, added_ns: f64) -> Finding {
    let grown_ns = |state: ThreadState| comparison.excess().of(state).map_or(0.0, |excess| excess.excess_ns().max(0.0));
    let mut rest_ns = added_ns - grown_ns(ThreadState::Blocked(Wait::Socket));
    for state in ON_ANOTHERS_BEHALF {
        let part_ns = rest_ns.min(grown_ns(state));
        if part_ns > 0.0 {
            finding.claims.push(Claim::part(state, part_ns));
            rest_ns -= part_ns;
        }
    }
    finding
}
