//! The services with recorded reads, and the calls of client libraries that read elsewhere.

use std::collections::HashMap;
use std::fmt;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{ThreadState, Wait};

use crate::limits::MINOR_SHARE;
use crate::measure::calls::SLOWER;
use crate::period::Period;
use crate::{Comparison, format};

/// Reads from one peer.
#[derive(Default, Clone, Copy)]
pub(super) struct Reads {
    pub(super) count: usize,
    total_ns: i64,
    pub(super) longest_ns: i64,
}

impl Reads {
    pub(super) fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count.max(1) as f64
    }
}

/// All of them, in the slow time and before.
pub(super) struct Peers {
    pub(super) slow: HashMap<Peer, Reads>,
    /// None where there is nothing to compare with.
    pub(super) before: Option<HashMap<Peer, Reads>>,
}

impl Peers {
    pub(super) fn of(comparison: &Comparison<'_>) -> Peers {
        Peers { slow: peers(&comparison.slow), before: comparison.baseline.as_ref().map(peers) }
    }

    /// Mean read from `peer` in the baseline; 0 when all were too short to be noted.
    pub(super) fn mean_before_ns(&self, peer: &Peer) -> Option<f64> {
        let before = self.before.as_ref()?;
        Some(before.get(peer).map_or(0.0, Reads::mean_ns))
    }

    /// Reads from `peer` per second: in the slow time and before.
    pub(super) fn per_second(&self, comparison: &Comparison<'_>, peer: &Peer) -> (f64, f64) {
        let count = |peers: &HashMap<Peer, Reads>| peers.get(peer).map_or(0, |reads| reads.count) as f64;
        let before = self.before.as_ref().zip(comparison.baseline.as_ref());
        let before = before.map_or(0.0, |(peers, baseline)| count(peers) / baseline.seconds());
        (count(&self.slow) / comparison.slow.seconds(), before)
    }

    /// The peer whose reads took most time more than before, if one is slower; else the one that was waited for most. A
    /// peer with constant waits for messages, or with more calls that are as quick as ever, does not hide a slow one.
    pub(super) fn slowest(&self, comparison: &Comparison<'_>) -> Option<(&Peer, &Reads)> {
        let grown_ns = comparison.grown_ns(ThreadState::Blocked(Wait::Socket));
        let key = |peer: &Peer, reads: &Reads| (self.added_ns(peer, reads, grown_ns), reads.total_ns);
        self.slow.iter().max_by(|(peer, reads), (other, others)| {
            let ((added_ns, total_ns), (added, total)) = (key(peer, reads), key(other, others));
            added_ns.total_cmp(&added).then(total_ns.cmp(&total)).then(peer.cmp(other))
        })
    }

    /// By how much longer all reads took from peers that are slower than before, in ns; none if that is about all the new
    /// waiting for services, or if there is no baseline. The rest belongs to services that are called more than others.
    pub(super) fn slower_ns(&self, comparison: &Comparison<'_>) -> Option<f64> {
        const NEARLY_ALL: f64 = 0.7;
        self.before.as_ref()?;
        let grown_ns = comparison.grown_ns(ThreadState::Blocked(Wait::Socket));
        let slower_ns: f64 = self.slow.iter().map(|(peer, reads)| self.added_ns(peer, reads, grown_ns)).sum();
        (slower_ns < NEARLY_ALL * grown_ns).then_some(slower_ns)
    }

    /// By how much longer than before all reads from `peer` took, in ns; 0 where it is not slower, or where that is next to nothing of
    /// the waiting for services that is new.
    fn added_ns(&self, peer: &Peer, reads: &Reads, grown_ns: f64) -> f64 {
        let before_ns = self.mean_before_ns(peer).unwrap_or(0.0);
        let added_ns = (reads.mean_ns() - before_ns) * reads.count as f64;
        if reads.mean_ns() >= SLOWER * before_ns && added_ns >= MINOR_SHARE * grown_ns { added_ns } else { 0.0 }
    }
}

/// Waits for services by what they are: reads from a peer, or calls of a client library that reads elsewhere.
fn peers(period: &Period<'_>) -> HashMap<Peer, Reads> {
    let mut peers: HashMap<Peer, Reads> = HashMap::new();
    // The kernel sees the reads of all classes: if the JVM reported none, they are all there are.
    let is_told = !period.sources.rows(span::SOCKET_READ).is_empty();
    let calls = period.spans(span::SYSTEM_CALL).filter(|_| !is_told);
    let waits = period.spans(span::SOCKET_READ).chain(period.spans(span::PARK)).chain(calls);
    for wait in waits.filter(|wait| period.sources.is_application(wait.tid)) {
        let Some(peer) = Peer::of(period, &wait) else { continue };
        let reads = peers.entry(peer).or_default();
        reads.count += 1;
        reads.total_ns = reads.total_ns.saturating_add(wait.duration_ns);
        reads.longest_ns = reads.longest_ns.max(wait.duration_ns);
    }
    peers
}

/// Who is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Peer {
    /// `host:port`.
    Service(String),
    /// The library's entry point.
    Client(String),
}

impl Peer {
    fn of(period: &Period<'_>, wait: &Span) -> Option<Peer> {
        let recording = period.sources.recording;
        if recording.text(wait.kind) == span::SOCKET_READ {
            return period
                .sources
                .traffic
                .is_service(wait)
                .then(|| Peer::Service(recording.text(wait.name).to_owned()));
        }
        if recording.text(wait.kind) == span::SYSTEM_CALL {
            return period.sources.traffic.called(wait).map(Peer::Service);
        }
        period.sources.traffic.call_of_a_client(wait).map(|call| Peer::Client(recording.text(call).to_owned()))
    }

    /// `3 reads from db:5432`.
    pub(super) fn count(&self, reads: usize) -> String {
        match self {
            Peer::Service(name) => format!("{} from {name}", format::count(reads, "read")),
            Peer::Client(call) => format!("{} of {call}", format::count(reads, "call")),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Service(name) => write!(f, "read from {name}"),
            Peer::Client(call) => write!(f, "call of {call}"),
        }
    }
}
