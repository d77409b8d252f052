//! Thread time as a partition: every instant of a thread's life is in exactly one state.
//!
//! What is recorded of a thread overlaps: it reads a socket, and has a page fault meanwhile. One of the states recorded for
//! an instant is chosen (`Precedence`): a thread that is stopped with the whole application waits for nothing else, and an
//! interruption by the kernel comes before what the thread was about to do. Time without a record is
//! [`ThreadState::Unknown`]: it is never spread, never left out. How much of it was running is known as an amount only,
//! from counters and samples.

mod recorded;
mod sweep;

use std::collections::BTreeMap;

use fathom_evidence::kinds::{role, span};

use crate::intervals::Intervals;
use crate::sources::Sources;
use crate::states::ThreadState;
use crate::stops::StopSpan;

/// A stretch of a thread's life in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// What the thread did.
    pub state: ThreadState,
    /// Row of the table of spans that says so; none where the application was stopped, or nothing was recorded.
    pub row: Option<u32>,
}

impl Segment {
    fn stopped(stop: &StopSpan) -> Segment {
        Segment { from_ns: stop.from_ns, to_ns: stop.to_ns, state: ThreadState::Stopped(stop.stop), row: None }
    }

    /// Its length, in ns.
    pub fn length_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Its length within a set of time, in ns.
    pub fn within_ns(&self, time: &Intervals) -> i64 {
        time.within_ns(self.from_ns, self.to_ns)
    }
}

/// A thread from its beginning to its end.
#[derive(Debug, Clone, Default)]
struct Life {
    from_ns: i64,
    to_ns: i64,
    /// Whether it stands still when the application does.
    is_stopped: bool,
    /// What is recorded of it, outside stops: disjoint, ascending.
    recorded: Vec<Segment>,
}

/// The lives of all threads.
#[derive(Debug, Clone, Default)]
pub struct Partition {
    lives: BTreeMap<i64, Life>,
    /// When the application stood still: disjoint, ascending.
    stops: Vec<Segment>,
}

impl Partition {
    /// Divides the time of every thread that is known. The stops are disjoint and ascending.
    pub(crate) fn new(sources: &Sources<'_>, stops: &[StopSpan]) -> Partition {
        let stops: Vec<Segment> = stops.iter().map(Segment::stopped).collect();
        let stopped = Intervals::union(stops.iter().map(|stop| (stop.from_ns, stop.to_ns)).collect());
        let mut recorded = recorded::of(sources);
        let mut lives = lives(sources);
        for tid in recorded.keys() {
            lives.entry(*tid).or_insert_with(|| Life::whole(sources, *tid));
        }
        for (tid, life) in &mut lives {
            let recorded = recorded.remove(tid).unwrap_or_default();
            let taken = if life.is_stopped { &stopped } else { &Intervals::default() };
            life.recorded = sweep::disjoint(recorded, taken);
            life.recorded.retain_mut(|segment| life_cut(segment, life.from_ns, life.to_ns));
        }
        Partition { lives, stops }
    }

    /// Every thread with what is recorded of it outside stops.
    pub fn recorded(&self) -> impl Iterator<Item = (i64, &[Segment])> + '_ {
        self.lives.iter().map(|(tid, life)| (*tid, life.recorded.as_slice()))
    }

    /// Every thread.
    pub fn threads(&self) -> impl Iterator<Item = i64> + '_ {
        self.lives.keys().copied()
    }

    /// From when to when a thread lived, as far as it is known.
    pub fn life(&self, tid: i64) -> Option<(i64, i64)> {
        self.lives.get(&tid).map(|life| (life.from_ns, life.to_ns))
    }

    /// What a thread did from one time to another: all of it, stops and unknown time included.
    pub fn segments(&self, tid: i64, from_ns: i64, to_ns: i64) -> Vec<Segment> {
        let Some(life) = self.lives.get(&tid) else { return fill(Vec::new(), from_ns, to_ns) };
        let (from_ns, to_ns) = (from_ns.max(life.from_ns), to_ns.min(life.to_ns));
        let mut known: Vec<Segment> = overlapping(&life.recorded, from_ns, to_ns).collect();
        if life.is_stopped {
            known.extend(overlapping(&self.stops, from_ns, to_ns));
            known.sort_by_key(|segment| segment.from_ns);
        }
        fill(known, from_ns, to_ns)
    }
}

/// The segments of a list (disjoint, ascending) that overlap a time, cut to it.
fn overlapping(list: &[Segment], from_ns: i64, to_ns: i64) -> impl Iterator<Item = Segment> + '_ {
    let first = list.partition_point(|segment| segment.to_ns <= from_ns);
    let near = list[first..].iter().take_while(move |segment| segment.from_ns < to_ns);
    near.map(move |segment| Segment {
        from_ns: segment.from_ns.max(from_ns),
        to_ns: segment.to_ns.min(to_ns),
        ..*segment
    })
}

/// Puts unknown time between segments.
fn fill(known: Vec<Segment>, from_ns: i64, to_ns: i64) -> Vec<Segment> {
    let mut all = Vec::with_capacity(known.len() * 2 + 1);
    let mut at = from_ns;
    let unknown = |from_ns, to_ns| Segment { from_ns, to_ns, state: ThreadState::Unknown, row: None };
    for segment in known {
        if at < segment.from_ns {
            all.push(unknown(at, segment.from_ns));
        }
        at = segment.to_ns;
        all.push(segment);
    }
    if at < to_ns {
        all.push(unknown(at, to_ns));
    }
    all
}

/// Cuts a segment to a life; false when nothing of it is left.
fn life_cut(segment: &mut Segment, from_ns: i64, to_ns: i64) -> bool {
    segment.from_ns = segment.from_ns.max(from_ns);
    segment.to_ns = segment.to_ns.min(to_ns);
    segment.from_ns < segment.to_ns
}

/// The lives of the threads whose beginning or end was recorded.
fn lives(sources: &Sources<'_>) -> BTreeMap<i64, Life> {
    // The first and the last beginning of each, and the same of its ends.
    let mut known: BTreeMap<i64, [Option<(i64, i64)>; 2]> = BTreeMap::new();
    for (which, kind) in [span::THREAD_START, span::THREAD_END].into_iter().enumerate() {
        for at in sources.spans(kind) {
            let (first, last) = known.entry(at.tid).or_default()[which].get_or_insert((at.time_ns, at.time_ns));
            (*first, *last) = (at.time_ns.min(*first), at.time_ns.max(*last));
        }
    }
    known.remove(&0);
    known.into_iter().map(|(tid, [begins, ends])| (tid, Life::between(sources, tid, begins, ends))).collect()
}

impl Life {
    /// A thread that lived all the time, as far as is known.
    fn whole(sources: &Sources<'_>, tid: i64) -> Life {
        let is_stopped = matches!(sources.role(tid), role::JAVA | role::HANDLER);
        Life { from_ns: sources.extent_ns.0, to_ns: sources.extent_ns.1, is_stopped, recorded: Vec::new() }
    }

    /// The number of a thread that has ended may be another one's later: all who had it are one life, from the beginning of the first
    /// to the end of the last. Between two of them it is not known to do anything.
    fn between(sources: &Sources<'_>, tid: i64, begins: Option<(i64, i64)>, ends: Option<(i64, i64)>) -> Life {
        let whole = Life::whole(sources, tid);
        let begin = begins.filter(|begins| ends.is_none_or(|ends| begins.0 < ends.0)).map(|begins| begins.0);
        let end = ends.filter(|ends| begins.is_none_or(|begins| begins.1 < ends.1)).map(|ends| ends.1);
        let from_ns = begin.map_or(whole.from_ns, |begin| begin.min(whole.to_ns));
        Life { from_ns, to_ns: end.map_or(whole.to_ns, |end| end.max(from_ns)), ..whole }
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;

    use super::*;
    use crate::states::{Stop, Wait};

    #[test]
    fn every_instant_of_a_life_is_in_one_state() {
        let mut recording = Recording::default();
        recording.add_thread(7, "handler-1");
        for (from, length, kind) in [
            (1_000, 8_000, span::MONITOR_ENTER),
            (3_000, 1_000, span::PAGE_FAULT),
            (500, 0, span::THREAD_START),
            (20_000, 0, span::THREAD_END),
        ] {
            recording.add_span(from, length, 7, kind, "", "", "jfr");
        }
        let sources = Sources::new(&recording).unwrap();
        let stop = StopSpan { from_ns: 5_000, to_ns: 6_000, stop: Stop::Operation };
        let partition = Partition::new(&sources, &[stop]);
        let lock = ThreadState::Blocked(Wait::Lock);
        let states: Vec<(i64, i64, ThreadState)> =
            partition.segments(7, 0, i64::MAX).iter().map(|s| (s.from_ns, s.to_ns, s.state)).collect();
        let expected = [
            (500, 1_000, ThreadState::Unknown),
            (1_000, 3_000, lock),
            (3_000, 4_000, ThreadState::Blocked(Wait::PageFault)),
            (4_000, 5_000, lock),
            (5_000, 6_000, ThreadState::Stopped(Stop::Operation)),
            (6_000, 9_000, lock),
            (9_000, 20_000, ThreadState::Unknown),
        ];
        assert_eq!(states, expected);
    }

    #[test]
    fn all_who_had_a_number_are_one_life() {
        const ALL_NS: i64 = 1_000_000_000;
        const BEGIN: &str = span::THREAD_START;
        const END: &str = span::THREAD_END;
        for (events, expected) in [
            (&[][..], (0, ALL_NS)),
            (&[(20, BEGIN)], (20, ALL_NS)),
            (&[(60, END)], (0, 60)),
            (&[(20, BEGIN), (60, END)], (20, 60)),
            (&[(20, BEGIN), (40, END), (50, BEGIN), (60, END)], (20, 60)),
            (&[(40, END), (50, BEGIN)], (0, ALL_NS)),
            (&[(40, END), (50, BEGIN), (60, END)], (0, 60)),
            (&[(20, BEGIN), (40, END), (50, BEGIN)], (20, ALL_NS)),
        ] {
            let mut recording = Recording::default();
            recording.add_span(0, ALL_NS, 7, span::MONITOR_ENTER, "", "", "jfr");
            events.iter().for_each(|(time, kind)| recording.add_span(*time, 0, 7, kind, "", "", "jfr"));
            let partition = Partition::new(&Sources::new(&recording).unwrap(), &[]);
            assert_eq!(partition.life(7), Some(expected), "{events:?}");
            let waits: Vec<(i64, i64)> =
                partition.recorded().flat_map(|(_, all)| all).map(|wait| (wait.from_ns, wait.to_ns)).collect();
            assert_eq!(waits, [expected], "{events:?}");
        }
    }
}
