//! Short waits for files and for child processes. They are too many to be recorded one by one; only their total time is known.
//!
//! The kernel counts for each thread how long it was in waits of a kind. If the thread was in certain calls meanwhile, it
//! waited for what these calls are about. Longer waits and calls have rows of their own, and are not counted twice.

use std::collections::BTreeMap;

use fathom_evidence::StrId;
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::system_calls::{ON_DESCRIPTOR, ON_SOCKETS, OPENS, STARTS, WAITS_FOR_CHILD, is, traits};
use fathom_evidence::tables::Span;

use crate::cpu::spread_rises;
use crate::intervals::Intervals;
use crate::sources::{Series, Sources};
use crate::states::{ThreadState, Wait};

/// What the scheduler calls waits that no signal ends.
const UNINTERRUPTIBLE: &str = "uninterruptible";

/// One kind of short wait.
struct Kind {
    wait: Wait,
    /// What the scheduler calls it.
    blocked: &'static str,
    /// In which calls.
    is_call: fn(&str) -> bool,
    /// Of which threads: those that make such calls.
    is_made_by: fn(&str) -> bool,
    /// Which longer ones have rows of their own.
    is_told: fn(&Sources<'_>, &Span) -> bool,
}

const KINDS: [Kind; 4] = [
    // Calls on sockets have names of their own.
    Kind {
        wait: Wait::FileBriefly,
        blocked: UNINTERRUPTIBLE,
        is_call: |call| is(call, ON_DESCRIPTOR | OPENS) && traits(call) & ON_SOCKETS == 0,
        is_made_by: |_| true,
        is_told: |sources, of| {
            is_blocked(sources, of, UNINTERRUPTIBLE) || is_call(sources, of) && sources.is_of_a_file(of)
        },
    },
    // Waits until a child shares no more memory, has reported whether its program runs or what it prints, and has ended.
    Kind {
        wait: Wait::ProcessBriefly,
        blocked: UNINTERRUPTIBLE,
        is_call: |call| is(call, STARTS),
        is_made_by: |_| true,
        is_told: |sources, of| is_call(sources, of) && is(sources.recording.text(of.name), STARTS),
    },
    Kind {
        wait: Wait::ProcessBriefly,
        blocked: "read_write",
        is_call: |call| matches!(call, "read pipe" | "readv pipe"),
        // A thread that starts no child may read what any other one wrote.
        is_made_by: |call| is(call, STARTS),
        is_told: |sources, of| is_call(sources, of) && sources.is_of_a_pipe(of),
    },
    Kind {
        wait: Wait::ProcessBriefly,
        blocked: "poll",
        is_call: |call| is(call, WAITS_FOR_CHILD),
        is_made_by: |_| true,
        is_told: |sources, of| is_blocked(sources, of, "poll"),
    },
];

fn is_call(sources: &Sources<'_>, of: &Span) -> bool {
    sources.recording.text(of.kind) == span::SYSTEM_CALL
}

fn is_blocked(sources: &Sources<'_>, of: &Span, name: &str) -> bool {
    sources.recording.text(of.kind) == span::BLOCKED && sources.recording.text(of.name) == name
}

/// Thread time of the application's threads by bucket, in ns, by what they waited for, as far as there is any.
pub(crate) fn of(sources: &Sources<'_>) -> BTreeMap<ThreadState, Vec<f64>> {
    let (waited, called) = (sources.counters(counter::BLOCKED_NS), sources.counters(counter::SYSTEM_CALLS_NS));
    let mut found: BTreeMap<ThreadState, Vec<f64>> = BTreeMap::new();
    for kind in &KINDS {
        let waited = by_thread(sources, &waited, |blocked| blocked == kind.blocked);
        let mut of_kind = by_thread(sources, &called, kind.is_call);
        let makers = by_thread(sources, &called, kind.is_made_by);
        of_kind.retain(|tid, _| makers.contains_key(tid));
        let sum = found.entry(ThreadState::Blocked(kind.wait)).or_insert_with(|| sources.grid.zeros());
        add_kind(sources, kind, &waited, &of_kind, sum);
    }
    found.retain(|_, sum| sum.iter().any(|ns| *ns > 0.0));
    found
}

type ByThread<'s> = BTreeMap<i64, Vec<&'s Series>>;

/// Series of counters by thread of the application.
fn by_thread<'s>(
    sources: &Sources<'_>,
    series: &'s BTreeMap<(StrId, i64), Series>,
    select: impl Fn(&str) -> bool,
) -> ByThread<'s> {
    let mut found = ByThread::new();
    for ((instance, tid), series) in series {
        if sources.is_application(*tid) && select(sources.recording.text(*instance)) {
            found.entry(*tid).or_default().push(series);
        }
    }
    found
}

/// Adds the waits of one kind.
fn add_kind(sources: &Sources<'_>, kind: &Kind, waited: &ByThread<'_>, called: &ByThread<'_>, sum: &mut [f64]) {
    let grid = sources.grid;
    if !called.keys().any(|tid| waited.contains_key(tid)) {
        return;
    }
    let told = told(sources, kind);
    for (tid, waited) in waited {
        let Some(called) = called.get(tid) else { continue };
        let (mut waits, mut calls, mut longer) = (grid.zeros(), grid.zeros(), grid.zeros());
        waited.iter().for_each(|series| spread_rises(grid, series, &mut waits));
        called.iter().for_each(|series| spread_rises(grid, series, &mut calls));
        // Waits and calls are counted when they end.
        for (from_ns, to_ns) in told.get(tid).iter().flat_map(|told| told.iter()) {
            grid.spread(&mut longer, to_ns, to_ns, to_ns.saturating_sub(from_ns) as f64);
        }
        add_rest(sum, &waits, &calls, &longer);
    }
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

/// When longer ones, which have rows of their own, were waited for, by thread.
fn told(sources: &Sources<'_>, kind: &Kind) -> BTreeMap<i64, Intervals> {
    let spans = [span::BLOCKED, span::SYSTEM_CALL].into_iter().flat_map(|of| sources.spans(of));
    let told = spans.filter(|of| (kind.is_told)(sources, of));
    Intervals::by_key(told.map(|of| (of.tid, of.time_ns, of.end_ns())))
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::tables::Counter;

    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// A thread that waits and calls for so many ns in each of two seconds, with one longer wait in the second one.
    fn seen((blocked, call): (&str, &str), waited_ns: f64, called_ns: f64, longer_ns: i64) -> Vec<(Wait, Vec<f64>)> {
        let mut recording = Recording::default();
        recording.add_thread(7, "worker-1");
        for second in 0..3 {
            let calls = call.split('+').map(|call| (counter::SYSTEM_CALLS_NS, call, called_ns));
            for (name, instance, ns) in calls.chain([(counter::BLOCKED_NS, blocked, waited_ns)]) {
                let (name, instance) = (recording.strings.intern(name), recording.strings.intern(instance));
                let (time_ns, value) = (second * SECOND_NS, second as f64 * ns);
                recording.counters.push(Counter { time_ns, name, instance, tid: 7, value, ..Counter::default() });
            }
        }
        let begin = SECOND_NS + 1_000;
        recording.add_span(begin, longer_ns, 7, span::BLOCKED, blocked, "", "scheduler");
        let sources = Sources::new(&recording).unwrap();
        let first = sources.grid.bucket_of(0).unwrap();
        let of_wait = |(state, row): (ThreadState, Vec<f64>)| match state {
            ThreadState::Blocked(wait) => (wait, row[first..first + 2].iter().map(|ns| ns.round()).collect()),
            state => panic!("{state:?}"),
        };
        of(&sources).into_iter().map(of_wait).collect()
    }

    #[test]
    fn a_longer_wait_that_is_counted_a_second_later_is_none() {
        let mut sum = [0.0; 4];
        add_rest(&mut sum, &[10.0, 0.0, 60.0, 10.0], &[20.0, 0.0, 70.0, 20.0], &[0.0, 50.0, 0.0, 0.0]);
        assert_eq!(sum, [10.0, 0.0, 10.0, 10.0]);
    }

    #[test]
    fn they_are_what_no_longer_wait_tells_of() {
        let read = (UNINTERRUPTIBLE, "pread64");
        let files = |first, second| vec![(Wait::FileBriefly, vec![first, second])];
        assert_eq!(seen(read, 3e8, 5e8, 1_000), files(3e8, 3e8 - 1e3));
        assert_eq!(seen(read, 3e8, 5e8, 200_000_000), files(3e8, 1e8));
        // No more than there was in calls on files: the rest was for something else.
        assert_eq!(seen(read, 3e8, 1e8, 1_000), files(1e8, 1e8 - 1e3));
        for call in ["read socket", "recvfrom", "munmap"] {
            assert_eq!(seen((UNINTERRUPTIBLE, call), 3e8, 5e8, 1_000), [], "{call}");
        }
    }

    #[test]
    fn children_are_started_heard_and_waited_for() {
        for (blocked, call, second) in [
            ("poll", "wait4", 1e8),
            ("poll", "waitid", 1e8),
            // Of longer ones a call tells, which is none of this one's.
            ("read_write", "read pipe+vfork", 3e8),
            (UNINTERRUPTIBLE, "vfork", 3e8),
        ] {
            let children = vec![(Wait::ProcessBriefly, vec![3e8, second])];
            assert_eq!(seen((blocked, call), 3e8, 5e8, 200_000_000), children, "{call}");
        }
        let others = ["read pipe", "read+vfork", "write pipe+vfork"].map(|call| ("read_write", call));
        for elsewhere in others.into_iter().chain([("poll", "epoll_wait")]) {
            assert_eq!(seen(elsewhere, 3e8, 5e8, 1_000), [], "{elsewhere:?}");
        }
    }
}
