//! Short waits for files, which are too many to be told one by one: how long they took in all is known.
//!
//! The kernel counts for each thread how long it was in waits that no signal ends. As far as the thread was in calls on files
//! meanwhile, that was for files. What longer waits and calls of the same time tell by themselves is not counted twice.

use std::collections::BTreeMap;

use fathom_evidence::kinds::{counter, span};
use fathom_evidence::system_calls::{ON_DESCRIPTOR, ON_SOCKETS, OPENS, traits};
use fathom_evidence::tables::Span;

use crate::cpu::spread_rises;
use crate::intervals::Intervals;
use crate::sources::{Series, Sources};

/// What the scheduler calls waits that no signal ends.
const UNINTERRUPTIBLE: &str = "uninterruptible";

/// Thread time of the application's threads by bucket, in ns, if there is any.
pub(crate) fn for_files(sources: &Sources<'_>) -> Option<Vec<f64>> {
    let grid = sources.grid;
    let (waited, called) = (waited(sources), called(sources));
    let told = told(sources);
    let mut sum = grid.zeros();
    for (tid, waited) in &waited {
        let Some(called) = called.get(tid) else { continue };
        let (mut waits, mut calls, mut longer) = (grid.zeros(), grid.zeros(), grid.zeros());
        waited.iter().for_each(|series| spread_rises(grid, series, &mut waits));
        called.iter().for_each(|series| spread_rises(grid, series, &mut calls));
        // Waits and calls are counted when they end.
        for (from_ns, to_ns) in told.get(tid).iter().flat_map(|told| told.iter()) {
            grid.spread(&mut longer, to_ns, to_ns, to_ns.saturating_sub(from_ns) as f64);
        }
        add_rest(&mut sum, &waits, &calls, &longer);
    }
    sum.iter().any(|ns| *ns > 0.0).then_some(sum)
}

/// Adds what is left of waits in calls. A longer one that ends with a second is counted in the next, with the reading after it.
fn add_rest(sum: &mut [f64], waits: &[f64], calls: &[f64], longer: &[f64]) {
    let mut owed = 0.0;
    for (index, sum) in sum.iter_mut().enumerate() {
        let rest = waits[index].min(calls[index]) - longer[index];
        *sum += f64::max(rest + owed, 0.0);
        owed = rest.min(0.0);
    }
}

/// In waits that no signal ends, by thread.
fn waited(sources: &Sources<'_>) -> BTreeMap<i64, Vec<Series>> {
    by_thread(sources, counter::BLOCKED_NS, |kind| kind == UNINTERRUPTIBLE)
}

/// In calls on files, by thread: those on sockets have names of their own.
fn called(sources: &Sources<'_>) -> BTreeMap<i64, Vec<Series>> {
    by_thread(sources, counter::SYSTEM_CALLS_NS, |call| {
        let traits = traits(call);
        traits & (ON_DESCRIPTOR | OPENS) != 0 && traits & ON_SOCKETS == 0
    })
}

fn by_thread(sources: &Sources<'_>, name: &str, select: impl Fn(&str) -> bool) -> BTreeMap<i64, Vec<Series>> {
    let mut found: BTreeMap<i64, Vec<Series>> = BTreeMap::new();
    for ((instance, tid), series) in sources.counters(name) {
        if sources.is_application(tid) && select(sources.recording.text(instance)) {
            found.entry(tid).or_default().push(series);
        }
    }
    found
}

/// When longer ones were told by themselves, by thread.
fn told(sources: &Sources<'_>) -> BTreeMap<i64, Intervals> {
    let is_told = |kind: &str, of: &Span| match kind {
        span::BLOCKED => sources.recording.text(of.name) == UNINTERRUPTIBLE,
        _ => sources.is_of_a_file(of),
    };
    let kinds = [span::BLOCKED, span::SYSTEM_CALL].into_iter();
    let told = kinds.flat_map(|kind| sources.spans(kind).filter(move |of| is_told(kind, of)));
    Intervals::by_key(told.map(|of| (of.tid, of.time_ns, of.end_ns())))
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::tables::Counter;

    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// A thread that waits and calls for so many ns in each of two seconds, with one longer wait in the second one.
    fn seen(call: &str, waited_ns: f64, called_ns: f64, longer_ns: i64) -> Option<Vec<f64>> {
        let mut recording = Recording::default();
        recording.add_thread(7, "worker-1");
        for second in 0..3 {
            for (name, instance, ns) in
                [(counter::BLOCKED_NS, UNINTERRUPTIBLE, waited_ns), (counter::SYSTEM_CALLS_NS, call, called_ns)]
            {
                let (name, instance) = (recording.strings.intern(name), recording.strings.intern(instance));
                let (time_ns, value) = (second * SECOND_NS, second as f64 * ns);
                recording.counters.push(Counter { time_ns, name, instance, tid: 7, value, ..Counter::default() });
            }
        }
        let begin = SECOND_NS + 1_000;
        recording.add_span(begin, longer_ns, 7, span::BLOCKED, UNINTERRUPTIBLE, "", "scheduler");
        let sources = Sources::new(&recording).unwrap();
        let first = sources.grid.bucket_of(0).unwrap();
        for_files(&sources).map(|row| row[first..first + 2].iter().map(|ns| ns.round()).collect())
    }

    #[test]
    fn a_longer_wait_that_is_counted_a_second_later_is_none() {
        let mut sum = [0.0; 4];
        add_rest(&mut sum, &[10.0, 0.0, 60.0, 10.0], &[20.0, 0.0, 70.0, 20.0], &[0.0, 50.0, 0.0, 0.0]);
        assert_eq!(sum, [10.0, 0.0, 10.0, 10.0]);
    }

    #[test]
    fn they_are_what_no_longer_wait_tells_of() {
        assert_eq!(seen("pread64", 3e8, 5e8, 1_000), Some(vec![3e8, 3e8 - 1e3]));
        assert_eq!(seen("pread64", 3e8, 5e8, 200_000_000), Some(vec![3e8, 1e8]));
        // No more than there was in calls on files: the rest was for something else.
        assert_eq!(seen("pread64", 3e8, 1e8, 1_000), Some(vec![1e8, 1e8 - 1e3]));
        for call in ["read socket", "recvfrom", "munmap"] {
            assert_eq!(seen(call, 3e8, 5e8, 1_000), None, "{call}");
        }
    }
}
