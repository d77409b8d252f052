//! Calls of which never more than so many are under way, although more requests are: something gives its connections, or permits, to no
//! more of them. It is seen at the sockets, without a stack of those who wait.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::span;
use fathom_timeline::{Call, ThreadState, Wait};

use crate::cause::Claim;
use crate::measure::growth;
use crate::period::Period;
use crate::{Comparison, Finding, Support, format};

/// Seen for a smaller part of the time, a ceiling may be chance.
const MIN_AT_CEILING: f64 = 0.1;

/// Calls that begin at random have `load / (n + 1)` as much time with more than n under way as with n: so little only at a load at
/// which n are hardly ever under way. It leaves room for calls whose ends are seen late.
const MAX_ABOVE: f64 = 0.02;

/// Where so many times as many threads make calls as can at once, it is not they that are too few.
const MIN_CALLERS: usize = 2;

/// The highest number of calls of a peer at once.
struct Ceiling<'a> {
    peer: &'a str,
    calls: usize,
    /// The part of the time for which as many were under way.
    at_ceiling: f64,
    /// Requests beyond them meanwhile, on average over all the time.
    waiting: f64,
    callers: usize,
}

/// What holds requests back; none where no such ceiling shows, or not each call was measured.
pub(super) fn find(comparison: &Comparison<'_>) -> Option<Finding> {
    let peers: BTreeSet<_> = comparison.sources().traffic.calls().iter().map(|call| call.peer).collect();
    let names = peers.into_iter().map(|peer| comparison.recording().text(peer));
    let ceilings = names.filter_map(|peer| Ceiling::of(&comparison.slow, peer));
    let ceiling = ceilings.max_by(|a, b| a.waiting.total_cmp(&b.waiting))?;
    let waiting = |period: &Period<'_>| Ceiling::of(period, ceiling.peer).map_or(0.0, |one| one.waiting);
    let before = comparison.baseline_looked_at().as_ref().map(waiting);
    let grown_ns = (ceiling.waiting - before.unwrap_or(0.0)) * comparison.excess().slow_ns;
    if grown_ns < comparison.material_ns() || !growth::grew((ceiling.waiting, before)) {
        return None;
    }
    let waiting = comparison.evidence("requests beyond the calls at once", (ceiling.waiting, before), "count", "spans");
    let mut finding = Finding::new(Support::Consistent, ceiling.says()).with(waiting.of(&[span::CALL, span::REQUEST]));
    let unnamed = [ThreadState::Blocked(Wait::Unnamed), ThreadState::Unknown];
    finding.claims = Claim::parts_in_order(comparison, &unnamed, grown_ns);
    Some(finding)
}

impl<'a> Ceiling<'a> {
    fn of(period: &Period<'_>, peer: &'a str) -> Option<Ceiling<'a>> {
        let traffic = &period.sources.traffic;
        let is_here =
            |call: &&Call| period.sources.recording.text(call.peer) == peer && period.has(call.from_ns, call.to_ns);
        let calls: Vec<&Call> = traffic.calls().iter().filter(is_here).collect();
        let requests = traffic.measured_requests().filter(|one| period.has(one.from_ns, one.to_ns));
        let requests: Vec<(i64, i64, f64)> = requests.map(|one| (one.from_ns, one.to_ns, one.weight)).collect();
        let is_each = calls.iter().all(|call| call.weight == 1.0) && requests.iter().all(|one| one.2 == 1.0);
        let callers = calls.iter().map(|call| call.tid).collect::<BTreeSet<_>>().len();
        let at_once = AtOnce::of(
            period,
            calls.iter().map(|call| (call.from_ns, call.to_ns)),
            requests.iter().map(|one| (one.0, one.1)),
        );
        let (calls, at_ceiling, waiting) = at_once.ceiling(period.seconds() * 1e9)?;
        (is_each && callers >= MIN_CALLERS * calls).then_some(Ceiling { peer, calls, at_ceiling, waiting, callers })
    }

    fn says(&self) -> String {
        format!(
            "never more than {} of {} at once, by {}, for {} of the time, while {} requests more were under way on average: \
             a pool has no free connection for them, or a semaphore no permit",
            format::count(self.calls, "call"),
            self.peer,
            format::count(self.callers, "thread"),
            format::percent(self.at_ceiling),
            format::number(self.waiting / self.at_ceiling)
        )
    }
}

/// For how long so many calls were under way, and so many requests meanwhile, in ns.
#[derive(Default)]
struct AtOnce(BTreeMap<(usize, usize), i64>);

impl AtOnce {
    fn of(
        period: &Period<'_>,
        calls: impl Iterator<Item = (i64, i64)>,
        requests: impl Iterator<Item = (i64, i64)>,
    ) -> AtOnce {
        let ends = |(from_ns, to_ns), call: isize, request: isize| [(from_ns, call, request), (to_ns, -call, -request)];
        let edges = calls.flat_map(|call| ends(call, 1, 0)).chain(requests.flat_map(|one| ends(one, 0, 1)));
        let mut edges: Vec<(i64, isize, isize)> = edges.collect();
        edges.sort_unstable();
        let (mut found, mut now, mut since_ns) = (AtOnce::default(), (0_isize, 0_isize), i64::MIN);
        for (time_ns, call, request) in edges {
            if now != (0, 0) {
                let key = (now.0.max(0) as usize, now.1.max(0) as usize);
                *found.0.entry(key).or_default() += period.time.within_ns(since_ns, time_ns);
            }
            (since_ns, now) = (time_ns, (now.0 + call, now.1 + request));
        }
        found
    }

    /// The fewest calls at once of which there are hardly ever more, the part of `all_ns` with so many, and how many requests were
    /// beyond them on average.
    fn ceiling(&self, all_ns: f64) -> Option<(usize, f64, f64)> {
        let ns = |is: &dyn Fn(usize) -> bool| {
            self.0.iter().filter(|((calls, _), _)| is(*calls)).map(|(_, ns)| *ns as f64).sum::<f64>()
        };
        let most = self.0.keys().map(|(calls, _)| *calls).max()?;
        let is_ceiling = |calls: &usize| {
            let at = ns(&|n| n == *calls);
            at >= MIN_AT_CEILING * all_ns && ns(&|n| n > *calls) <= MAX_ABOVE * at
        };
        let calls = (1..=most).find(is_ceiling)?;
        let beyond = self.0.iter().filter(|((n, _), _)| *n == calls);
        let waiting: f64 = beyond.map(|((_, requests), ns)| requests.saturating_sub(calls) as f64 * *ns as f64).sum();
        Some((calls, ns(&|n| n == calls) / all_ns, waiting / all_ns))
    }
}
