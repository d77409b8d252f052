//! Concurrent calls to a peer never exceed some number although more requests are in flight: a pool gives connections (or a
//! semaphore permits) to no more. It is seen at the sockets, without a stack of the waiting threads.

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
    let unnamed = [ThreadState::Blocked(Wait::Unnamed), ThreadState::Unknown];
    if unnamed.iter().map(|state| comparison.grown_ns(*state)).sum::<f64>() < comparison.material_ns() {
        return None;
    }
    let measured = Measured::of(&comparison.slow)?;
    let ceilings = measured.calls.keys().filter_map(|peer| measured.ceiling(peer));
    let ceiling = ceilings.max_by(|a, b| a.waiting.total_cmp(&b.waiting))?;
    let before = comparison.baseline_looked_at().as_ref().map(|period| waiting(period, ceiling.peer));
    let grown_ns = (ceiling.waiting - before.unwrap_or(0.0)) * comparison.excess().slow_ns;
    if grown_ns < comparison.material_ns() || !growth::grew((ceiling.waiting, before)) {
        return None;
    }
    let waiting = comparison.evidence("requests beyond the calls at once", (ceiling.waiting, before), "count", "spans");
    let mut finding = Finding::new(Support::Consistent, ceiling.says()).with(waiting.of(&[span::CALL, span::REQUEST]));
    finding.claims = Claim::parts_in_order(comparison, &unnamed, grown_ns);
    Some(finding)
}

/// Requests beyond the ceiling of a peer, on average.
fn waiting(period: &Period<'_>, peer: &str) -> f64 {
    let measured = Measured::of(period);
    measured.and_then(|measured| measured.ceiling(peer).map(|one| one.waiting)).unwrap_or(0.0)
}

/// When something begins or ends, and by how much there is more of it then.
type Edge = (i64, isize);

fn edges(times: impl Iterator<Item = (i64, i64)>) -> Vec<Edge> {
    let mut edges: Vec<Edge> = times.flat_map(|(from_ns, to_ns)| [(from_ns, 1), (to_ns, -1)]).collect();
    edges.sort_unstable();
    edges
}

/// The requests of a period, all of them measured, and their calls by peer.
struct Measured<'p> {
    period: &'p Period<'p>,
    requests: Vec<Edge>,
    calls: BTreeMap<&'p str, Vec<&'p Call>>,
}

impl<'p> Measured<'p> {
    fn of(period: &'p Period<'_>) -> Option<Measured<'p>> {
        let traffic = &period.sources.traffic;
        let requests = || traffic.measured_requests().filter(|one| period.has(one.from_ns, one.to_ns));
        if requests().any(|one| one.weight != 1.0) {
            return None;
        }
        let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in traffic.calls().iter().filter(|call| period.has(call.from_ns, call.to_ns)) {
            calls.entry(period.sources.recording.text(call.peer)).or_default().push(call);
        }
        Some(Measured { period, requests: edges(requests().map(|one| (one.from_ns, one.to_ns))), calls })
    }

    fn ceiling<'n>(&self, peer: &'n str) -> Option<Ceiling<'n>> {
        let calls = self.calls.get(peer)?;
        let callers = calls.iter().map(|call| call.tid).collect::<BTreeSet<_>>().len();
        if callers < MIN_CALLERS || calls.iter().any(|call| call.weight != 1.0) {
            return None;
        }
        let at_once =
            AtOnce::of(self.period, &edges(calls.iter().map(|call| (call.from_ns, call.to_ns))), &self.requests);
        let (calls, at_ceiling, waiting) = at_once.ceiling(self.period.seconds() * 1e9)?;
        (callers >= MIN_CALLERS * calls).then_some(Ceiling { peer, calls, at_ceiling, waiting, callers })
    }
}

impl Ceiling<'_> {
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
    fn of<'e>(period: &Period<'_>, mut calls: &'e [Edge], mut requests: &'e [Edge]) -> AtOnce {
        let (mut found, mut now, mut since_ns) = (AtOnce::default(), (0_isize, 0_isize), i64::MIN);
        while let Some((is_call, (time_ns, by))) = next(&mut calls, &mut requests) {
            if now != (0, 0) {
                let key = (now.0.max(0) as usize, now.1.max(0) as usize);
                *found.0.entry(key).or_default() += period.time.within_ns(since_ns, time_ns);
            }
            since_ns = time_ns;
            if is_call { now.0 += by } else { now.1 += by }
        }
        found
    }

    /// The smallest number of concurrent calls that is hardly ever exceeded, the part of `all_ns` with that many, and how
    /// many more requests there were then on average. Requests that wait for a connection wait while all are in use. If
    /// most of the other requests were in flight with fewer calls, they waited for something else.
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
        let waiting = self.beyond(|n| n == calls);
        (waiting >= self.beyond(|n| n < calls)).then(|| (calls, ns(&|n| n == calls) / all_ns, waiting / all_ns))
    }

    /// Requests that were under way beside so many calls, times how long.
    fn beyond(&self, is: impl Fn(usize) -> bool) -> f64 {
        let beside = self.0.iter().filter(|((calls, _), _)| is(*calls));
        beside.map(|((calls, requests), ns)| requests.saturating_sub(*calls) as f64 * *ns as f64).sum()
    }
}

/// What comes next, and whether it is of a call. Of those at the same instant requests come first.
fn next<'e>(calls: &mut &'e [Edge], requests: &mut &'e [Edge]) -> Option<(bool, Edge)> {
    let is_call = calls.first().is_some_and(|call| requests.first().is_none_or(|request| call.0 < request.0));
    let edges = if is_call { calls } else { requests };
    let (first, rest) = edges.split_first()?;
    *edges = rest;
    Some((is_call, *first))
}
