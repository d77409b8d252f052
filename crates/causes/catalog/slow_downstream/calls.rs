//! Calls that were measured at their sockets: what the other side took, whatever this process did meanwhile.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_timeline::Call;

use super::{SLOWER, is_ours};
use crate::explanation::Evidence;
use crate::measure::waits;
use crate::period::Period;
use crate::{Comparison, Finding, Support, format};

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

/// That nobody called another service while it was slow, where calls are measured: at other times there were some.
pub(super) fn none(comparison: &Comparison<'_>) -> Option<Finding> {
    let is_seen = comparison.sources().spans(span::CALL).len() > 0 && by_peer(&comparison.slow).is_empty();
    is_seen.then(|| Finding::absent("no other service was called in the slow time, measured at the sockets"))
}

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
    let mut finding = Finding::new(support, says).with(waiting.clone()).with(mean).claiming(comparison, is_ours);
    // Threads that wait for a client library do so under another name; as much of that as the peer took longer is its.
    finding.claims.extend(waits::for_calls_of_others(comparison, added_ns(&(peer, calls)).0));
    // Of requests that were late while nobody saw which thread waited, the calls that were made within them are known.
    finding.claims.extend(waits::for_calls_in_requests(comparison, longer_in_requests_ns(comparison, name, usual_ns)));
    Some(finding)
}

/// By how much longer than usual a peer took for calls within the slow time's requests, in ns.
fn longer_in_requests_ns(comparison: &Comparison<'_>, name: &str, usual_ns: Option<f64>) -> f64 {
    let sources = comparison.sources();
    let is_meant = |call: &&Call| {
        sources.recording.text(call.peer) == name
            && comparison.slow.has(call.from_ns, call.from_ns.saturating_add(call.peer_ns))
    };
    let longer_ns = |call: &Call| (call.peer_ns as f64 - usual_ns.unwrap_or(0.0)).max(0.0) * call.weight;
    0.0 + sources.calls_in_requests().filter(is_meant).map(longer_ns).sum::<f64>()
}

/// What a period has of each peer, by its name: that is the same in another recording.
fn by_peer<'a>(side: &Period<'a>) -> HashMap<&'a str, Calls> {
    let mut peers: HashMap<&str, Calls> = HashMap::new();
    let is_here = |call: &&Call| side.has(call.from_ns, call.from_ns.saturating_add(call.peer_ns));
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
