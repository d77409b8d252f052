//! Calls of other services that were measured at their sockets, by peer: the time of the other side, whatever this process
//! did meanwhile.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_timeline::{Call, ThreadState, is_loopback};

use crate::measure::{cpu_shortage, requests};
use crate::period::Period;
use crate::{Comparison, Evidence, Support, format};

/// Times longer than in the baseline before the other side counts as slower, but where that is most of what was lost.
pub const SLOWER: f64 = 1.5;

/// The part of the lost time, or of what requests took longer, that no chance makes: what calls took longer is as much, however little longer
/// each was.
const MOST: f64 = 0.5;

/// The part of the calls without an answer from which on that is what is said of the peer.
const MOSTLY_UNANSWERED: f64 = 0.5;

/// Calls of one peer.
#[derive(Debug, Default, Clone, Copy)]
pub struct Calls {
    /// How many, also those that are no rows.
    pub count: f64,
    /// Of these, how many were not answered during the recording.
    pub unanswered: f64,
    /// What the peer took for them, in ns.
    pub total_ns: f64,
    /// The longest of them, in ns.
    pub longest_ns: i64,
    /// The same time with that in which answers lay unread.
    pub until_read_ns: f64,
    /// The coarseness of their lengths, in ns; 0 where each byte was seen.
    pub coarse_ns: i64,
    /// How much longer than known all of them may have been, beyond that, in ns.
    longer_ns: f64,
}

impl Calls {
    /// What the peer took for one, in ns.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns / self.count.max(1.0)
    }

    /// Whether the mean of coarse ones is known: where the length of a single one is cut at the coarseness, their mean is no less.
    pub fn is_mean_known(&self) -> bool {
        self.mean_ns() < self.coarse_ns as f64
    }

    /// The longest that one can have taken on average, but for the coarseness, in ns.
    fn at_most_ns(&self) -> f64 {
        (self.total_ns + self.longer_ns) / self.count.max(1.0)
    }

    /// Whether they may have been noticeably longer than is known.
    fn are_longer(&self) -> bool {
        self.longer_ns / self.count.max(1.0) > self.coarse_ns.max(1) as f64 / 2.0
    }

    /// Of some calls; `coarse_ns` is the least that the length of one may be off.
    fn with_coarseness(coarse_ns: i64) -> Calls {
        Calls { coarse_ns, ..Calls::default() }
    }

    fn add(&mut self, call: &Call) {
        self.count += call.weight;
        self.unanswered += if call.is_answered { 0.0 } else { call.weight };
        self.total_ns += call.counted_ns as f64 * call.weight;
        self.until_read_ns += call.to_ns.saturating_sub(call.from_ns).max(0) as f64 * call.weight;
        self.longest_ns = self.longest_ns.max(call.peer_ns);
        self.longer_ns += call.uncertain_ns.saturating_sub(self.coarse_ns).max(0) as f64 * call.weight;
    }
}

/// The calls of those peers that took more time than usual.
#[derive(Debug, Clone, Copy)]
pub struct Slowest<'a> {
    /// Its name: that is the same in another recording.
    pub peer: &'a str,
    /// Its calls in the slow time.
    pub calls: Calls,
    /// What it took for one before, in ns.
    pub usual_ns: Option<f64>,
    /// How long it can have taken for one before, in ns.
    usual_at_most_ns: f64,
    /// Whether what all of them took longer is most of what was lost, or of what requests took longer.
    is_most: bool,
}

impl Slowest<'_> {
    /// By how much longer than usual all its calls took, in ns.
    pub fn added_ns(&self) -> f64 {
        (self.calls.mean_ns() - self.usual_ns.unwrap_or(0.0)) * self.calls.count
    }

    /// Whether it took longer than that. Lengths that looks found are at least so long, and the shortest count as two ticks of the
    /// kernel's clock: so calls became longer if they took a tick more than those before can have taken.
    fn is_slower_than(&self, usual_ns: f64) -> bool {
        let mean_ns = self.calls.mean_ns();
        let is_longer = mean_ns >= SLOWER * usual_ns || mean_ns > usual_ns && self.is_most;
        is_longer && mean_ns > self.usual_at_most_ns + self.calls.coarse_ns as f64 / 2.0
    }

    /// What it took before, if it takes no longer now.
    fn as_before_ns(&self) -> Option<f64> {
        self.usual_ns.filter(|usual_ns| !self.is_slower_than(*usual_ns))
    }

    /// How they were measured.
    fn measured(&self) -> String {
        match self.calls.coarse_ns {
            0 => "measured at the sockets".to_owned(),
            ns => format!("known to {} from looks at its connections", format::time(ns as f64)),
        }
    }

    /// How well it is seen that the peer is slow. It may be on this host, and stand in line for a CPU where others take them, as this process
    /// does then. That this one finds a CPU tells nothing of a peer that is known to be here: who runs rarely is let run before who runs much.
    pub fn support(&self, comparison: &Comparison<'_>) -> Support {
        let is_crowded = cpu_shortage(comparison).by_others.is_some();
        match self.usual_ns {
            Some(_) if self.as_before_ns().is_some() => Support::Absent,
            _ if self.may_lack_cpus(comparison) || is_crowded && !finds_a_cpu(comparison) => Support::Weak,
            Some(_) if !is_crowded => Support::Observed,
            None if self.is_new_and_quick(comparison) => Support::Weak,
            _ => Support::Consistent,
        }
    }

    /// Whether it was not called before, and takes no longer than requests took then: that it is called is what changed.
    fn is_new_and_quick(&self, comparison: &Comparison<'_>) -> bool {
        let Some(baseline) = &comparison.baseline else { return false };
        let (count, sum_ns) = requests::sum_of(baseline);
        self.usual_ns.is_none() && count > 0.0 && self.calls.mean_ns() * count < SLOWER * sum_ns
    }

    /// Whether the peer is on this host, and other processes took its CPUs.
    pub fn may_lack_cpus(&self, comparison: &Comparison<'_>) -> bool {
        is_loopback(self.peer) && cpu_shortage(comparison).by_others.is_some()
    }

    /// How long it takes to answer, as a sentence without an end.
    pub fn says(&self) -> String {
        let at_least = if self.calls.are_longer() { "at least " } else { "" };
        let (peer, mean) = (self.peer, format!("{at_least}{}", format::time(self.calls.mean_ns())));
        if let Some(usual_ns) = self.as_before_ns() {
            return format!(
                "{peer} answers after {mean}, {}, {}",
                format::no_longer(self.calls.mean_ns(), usual_ns),
                self.measured()
            );
        }
        let before = format::instead_of(self.usual_ns);
        let count = format::count(self.calls.count.round() as usize, "call");
        let (longest, measured) = (format::time(self.calls.longest_ns as f64), self.measured());
        if self.calls.unanswered >= MOSTLY_UNANSWERED * self.calls.count {
            let unanswered = format::number(self.calls.unanswered.round());
            let before =
                self.usual_ns.map_or(String::new(), |ns| format!("; in the baseline it took {}", format::time(ns)));
            return format!(
                "{peer} has not answered {unanswered} of {count}, the longest in {longest}, {measured}{before}"
            );
        }
        format!("{peer} answers after {mean}{before} on average ({count}, the longest {longest}), {measured}")
    }

    /// The same as a measurement.
    pub fn mean(&self, comparison: &Comparison<'_>) -> Evidence {
        let says = format!("mean answer of {}", self.peer);
        comparison.evidence(&says, (self.calls.mean_ns(), self.usual_ns), "ns", "spans").of(&[span::CALL])
    }
}

/// Whether the process's own threads hardly waited for a CPU, where that was recorded.
fn finds_a_cpu(comparison: &Comparison<'_>) -> bool {
    const HARDLY: f64 = 0.1;
    let waited_ns = comparison.excess().of(ThreadState::Runnable).map_or(0.0, |waiting| waiting.lost_ns());
    comparison.has_source("scheduler") && waited_ns < HARDLY * comparison.excess().lost_ns()
}

/// Whether a peer resolves names: it stands at the port that is kept for that.
pub fn is_name_server(peer: &str) -> bool {
    peer.ends_with(":53")
}

/// What a period has of each peer that `select` chooses.
pub fn by_peer<'a>(period: &Period<'a>, select: impl Fn(&str) -> bool) -> HashMap<&'a str, Calls> {
    of_peers(period, period.sources.traffic.calls(), select)
}

/// Calls by the name of their peer.
type ByPeer<'a> = HashMap<&'a str, Calls>;

fn of_peers<'a>(period: &Period<'a>, calls: &[Call], select: impl Fn(&str) -> bool) -> HashMap<&'a str, Calls> {
    let coarse_ns = calls.iter().map(|call| call.uncertain_ns).min().unwrap_or(0);
    let mut peers: HashMap<&str, Calls> = HashMap::new();
    let is_here = |call: &&Call| period.has(call.from_ns, call.from_ns.saturating_add(call.peer_ns));
    for call in calls.iter().filter(is_here) {
        let peer = period.sources.recording.text(call.peer);
        if select(peer) {
            peers.entry(peer).or_insert_with(|| Calls::with_coarseness(coarse_ns)).add(call);
        }
    }
    peers
}

/// The peer of `slow` whose calls took most time more than usual.
pub fn slowest<'a>(
    comparison: &Comparison<'a>,
    slow: &HashMap<&'a str, Calls>,
    select: impl Fn(&str) -> bool,
) -> Option<Slowest<'a>> {
    of_most(comparison, slow, comparison.baseline.as_ref().map(|baseline| by_peer(baseline, select)))
}

/// The same for calls found by polling connections, and only if they became longer by more than the error of their lengths:
/// polling rules nothing out.
pub fn slowest_of_coarse<'a>(comparison: &Comparison<'a>, select: impl Fn(&str) -> bool) -> Option<Slowest<'a>> {
    let (slow, before) = coarse(comparison, select);
    of_most(comparison, &slow, before)
        .filter(|found| found.usual_ns.is_some_and(|usual_ns| found.is_slower_than(usual_ns)))
}

/// The same calls by peer, in the slow time and in the baseline.
pub fn coarse<'a>(comparison: &Comparison<'a>, select: impl Fn(&str) -> bool) -> (ByPeer<'a>, Option<ByPeer<'a>>) {
    let of = |period: &Period<'a>| of_peers(period, period.sources.traffic.coarse_calls(), &select);
    (of(&comparison.slow), comparison.baseline.as_ref().map(of))
}

fn of_most<'a>(
    comparison: &Comparison<'a>,
    slow: &HashMap<&'a str, Calls>,
    before: Option<HashMap<&'a str, Calls>>,
) -> Option<Slowest<'a>> {
    let of = |(peer, calls): (&&'a str, &Calls)| {
        let usual = before.as_ref().and_then(|before| before.get(peer));
        let usual_at_most_ns = usual.map_or(0.0, Calls::at_most_ns);
        Slowest { peer, calls: *calls, usual_ns: usual.map(Calls::mean_ns), usual_at_most_ns, is_most: false }
    };
    let found = slow.iter().map(of).max_by(|a, b| {
        let key = |one: &Slowest<'_>| (one.added_ns(), one.calls.total_ns);
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal).then(b.peer.cmp(a.peer))
    })?;
    let is_most_of = |all_ns: f64| all_ns > 0.0 && found.added_ns() >= MOST * all_ns;
    let is_most = is_most_of(comparison.excess().lost_ns()) || requests::longer_ns(comparison).is_some_and(is_most_of);
    Some(Slowest { is_most, ..found })
}

/// By how much longer than usual a peer took for calls within the slow time's requests, in ns.
pub fn longer_in_requests_ns(comparison: &Comparison<'_>, slowest: &Slowest<'_>) -> f64 {
    beyond_in_requests_ns(comparison, slowest.peer, slowest.usual_ns.unwrap_or(0.0))
}

/// What a peer took for calls within the slow time's requests, in ns, of each only what is beyond this length.
pub fn beyond_in_requests_ns(comparison: &Comparison<'_>, peer: &str, length_ns: f64) -> f64 {
    let sources = comparison.sources();
    let is_meant = |call: &&Call| {
        sources.recording.text(call.peer) == peer
            && comparison.slow.has(call.from_ns, call.from_ns.saturating_add(call.peer_ns))
    };
    let beyond_ns = |call: &Call| (call.peer_ns as f64 - length_ns).max(0.0) * call.weight;
    0.0 + sources.traffic.calls_in_requests().filter(is_meant).map(beyond_ns).sum::<f64>()
}
