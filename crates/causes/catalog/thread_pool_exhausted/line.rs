//! Which threads wait for results of other threads at once, and by how many they exceed the workers of an executor.

use std::collections::{BTreeMap, BTreeSet};

use fathom_timeline::{Intervals, ThreadState, Wait};

use crate::Comparison;
use crate::measure::waits;

/// Stretches of threads' time: thread, beginning, end.
type Stretches = Vec<(i64, i64, i64)>;

/// Threads that wait for results in some time, but for those that always do.
pub(super) struct Waiters<'t> {
    time: &'t Intervals,
    waits: Stretches,
}

/// Those of them that may wait for one executor.
pub(super) struct Line {
    /// When more threads wait than it has workers; if that never happens, when any thread waits.
    pub(super) time: Intervals,
    /// How many more than it has workers wait on average.
    pub(super) beyond: f64,
}

impl<'t> Waiters<'t> {
    pub(super) fn of(comparison: &Comparison<'_>, time: &'t Intervals) -> Waiters<'t> {
        let mut waits = Stretches::new();
        for (tid, segment) in comparison.analysis.account.waits(comparison.sources()) {
            let is_one = segment.state == ThreadState::Blocked(Wait::Task);
            if is_one && time.touches(segment.from_ns, segment.to_ns) {
                waits.push((tid, segment.from_ns, segment.to_ns));
            }
        }
        let always = always(comparison, &waits);
        waits.retain(|(tid, ..)| !always.contains(tid));
        Waiters { time, waits }
    }

    /// Whether a thread is one.
    pub(super) fn has(&self, tid: i64) -> bool {
        self.waits.iter().any(|(one, ..)| *one == tid)
    }

    /// Those that are no workers themselves.
    pub(super) fn line(&self, workers: &BTreeSet<i64>) -> Line {
        let others = self.waits.iter().filter(|(tid, ..)| !workers.contains(tid));
        let others: Vec<(i64, i64)> = others.map(|(_, from_ns, to_ns)| (*from_ns, *to_ns)).collect();
        let crowds = crowds(&others, workers.len());
        let beyond_ns: f64 =
            crowds.iter().map(|(from, to, more)| *more as f64 * self.time.within_ns(*from, *to) as f64).sum();
        let crowded = Intervals::union(crowds.into_iter().map(|(from_ns, to_ns, _)| (from_ns, to_ns)).collect());
        let crowded = crowded.intersect(self.time);
        let time = if crowded.is_empty() { Intervals::union(others).intersect(self.time) } else { crowded };
        Line { time, beyond: beyond_ns / self.time.total_ns().max(1) as f64 }
    }
}

/// When more than so many of these stretches lie upon each other: from, to, how many more.
fn crowds(stretches: &[(i64, i64)], than: usize) -> Vec<(i64, i64, i64)> {
    let mut steps: Vec<(i64, i64)> = stretches.iter().flat_map(|(from, to)| [(*from, 1), (*to, -1)]).collect();
    steps.sort_unstable();
    let (mut waiting, mut since_ns, mut found) = (0_i64, i64::MIN, Vec::new());
    for (time_ns, change) in steps {
        let more = waiting.saturating_sub(than as i64);
        if more > 0 && time_ns > since_ns {
            found.push((since_ns, time_ns, more));
        }
        waiting += change;
        since_ns = time_ns;
    }
    found
}

/// Threads that wait for results nearly all the time, also when nothing is slow: `main`, which waits for others to end. If
/// there is no baseline: those that do so beside others that come and go.
fn always(comparison: &Comparison<'_>, stretches: &Stretches) -> BTreeSet<i64> {
    const MIN_SHARE_WAITING: f64 = 0.8;
    let usual = comparison.baseline_here().map(|baseline| &baseline.time);
    let time = usual.unwrap_or(&comparison.slow.time);
    let waited_ns = waits::by_thread(comparison, ThreadState::Blocked(Wait::Task), time);
    let nearly_ns = MIN_SHARE_WAITING * time.total_ns() as f64;
    let is_one = |tid: &i64| waited_ns.get(tid).is_some_and(|ns| *ns >= nearly_ns);
    let waiters: BTreeSet<i64> = stretches.iter().map(|(tid, ..)| *tid).collect();
    let always: BTreeSet<i64> = waiters.iter().copied().filter(is_one).collect();
    if usual.is_none() && always.len() == waiters.len() { BTreeSet::new() } else { always }
}

/// Waits of these threads that touch some time, by kind.
pub(super) fn waits_of(
    comparison: &Comparison<'_>,
    tids: &BTreeSet<i64>,
    time: &Intervals,
) -> BTreeMap<ThreadState, Stretches> {
    let mut waits: BTreeMap<ThreadState, Stretches> = BTreeMap::new();
    let all = comparison.analysis.account.waits(comparison.sources()).filter(|(tid, _)| tids.contains(tid));
    for (tid, segment) in all.filter(|(_, segment)| time.touches(segment.from_ns, segment.to_ns)) {
        waits.entry(segment.state).or_default().push((tid, segment.from_ns, segment.to_ns));
    }
    waits
}
