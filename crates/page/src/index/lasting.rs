//! Events with a duration and a stack: every kind of span that has stacks, and what the application's threads waited
//! for as the account has it, without idleness. A flame graph of them is weighted by time.
//!
//! Their rows cover time from their beginning on: if a selection cuts through one, its part counts.

use std::collections::BTreeMap;
use std::ops::Range;

use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Analysis, ThreadState, Wait};

use super::joins::Joins;
use super::reasons::Reasons;
use super::samples::{Event, Sum, Unit, Weights};
use super::spans::{Spans, duration};
use super::stacks::{Joined, Row};
use super::threads::{ThreadSet, Threads};
use super::words::WHY;
use crate::axis::Axis;

/// A wait of a thread of the application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    wait: Wait,
    from: i64,
    to: i64,
    thread: u32,
    /// Row of its span.
    row: u32,
}

/// All waits that the account is made of, but for those of threads that only wait for the end of another one.
pub(crate) fn waits(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads, joins: &mut Joins) -> Vec<Waited> {
    let view = &analysis.sources;
    let lost = analysis.account.waits(view).filter(|(tid, wait)| !joins.is_idle(view.recording, *tid, wait));
    let waits = lost.filter_map(|(tid, segment)| {
        let ThreadState::Blocked(wait) = segment.state else { return None };
        let (from, to) = (axis.at(segment.from_ns), axis.at(segment.to_ns));
        Some(Waited { wait, from, to, thread: threads.number(tid), row: segment.row? })
    });
    waits.collect()
}

/// Where the rows of an event are looked up.
pub(crate) struct Places<'p> {
    pub(crate) recording: &'p Recording,
    pub(crate) axis: &'p Axis,
    pub(crate) threads: &'p Threads,
    pub(crate) joined: &'p Joined,
    pub(crate) node_of_stack: &'p [u32],
}

impl Places<'_> {
    /// An event for why threads waited, for each thing that was waited for, and for each kind of spans with stacks.
    pub(crate) fn events(&self, waits: &[Waited], reasons: (&Reasons, &[StackId]), spans: &Spans) -> Vec<Event> {
        let mut by_wait: BTreeMap<Wait, Vec<Row>> = BTreeMap::new();
        for waited in waits {
            let row = self.row(waited.row, waited.from, waited.to.saturating_sub(waited.from), waited.thread);
            by_wait.entry(waited.wait).or_default().push(row);
        }
        let of_waits = by_wait.into_iter().map(|(wait, rows)| event(format!("waits/{}", wait.row().id), rows));
        let of_spans = spans.kinds.iter().map(|kind| {
            let rows = kind.rows.iter().map(|row| {
                let place = *row as usize;
                let (time, tid) = (self.recording.spans.time_ns[place], self.recording.spans.tid[place]);
                self.row(*row, self.axis.at(time), duration(self.recording, *row), self.threads.number(tid))
            });
            event(format!("spans/{}", kind.word), rows.collect())
        });
        let why = event(WHY.to_owned(), reasons.0.rows(reasons.1, |stack| self.node(stack)));
        std::iter::once(why).chain(of_waits).chain(of_spans).flatten().collect()
    }

    fn node(&self, stack: StackId) -> u32 {
        self.node_of_stack.get(stack.0 as usize).copied().unwrap_or(0)
    }

    fn row(&self, row: u32, time: i64, length: i64, thread: u32) -> Row {
        Row { time, length, thread, node: self.node(self.joined.of(self.recording, row)) }
    }
}

/// An event of rows, if any of them has a stack. What has no length is counted.
fn event(word: String, mut rows: Vec<Row>) -> Option<Event> {
    if rows.iter().all(|row| row.node == 0) {
        return None;
    }
    rows.sort_by_key(|row| row.time);
    let longest = rows.iter().map(|row| row.length).max().unwrap_or(0);
    Some(Event {
        word,
        unit: if longest > 0 { Unit::Nanoseconds } else { Unit::Samples },
        time: rows.iter().map(|row| row.time).collect(),
        thread: rows.iter().map(|row| row.thread).collect(),
        node: rows.iter().map(|row| row.node).collect(),
        weight: if longest > 0 { Weights::of(rows.iter().map(|row| row.length)) } else { Weights::Same(1.0) },
        longest,
    })
}

impl Event {
    /// Whether its rows last: each is time from its beginning on.
    pub(crate) fn is_lasting(&self) -> bool {
        self.longest > 0
    }

    /// The rows that are in some time, each with the part of it that is.
    pub(crate) fn lasting(&self, from: i64, to: i64) -> impl Iterator<Item = (usize, Range<i64>)> + '_ {
        let candidates = self.within(from.saturating_sub(self.longest), to);
        candidates.filter_map(move |row| {
            let end = self.time[row].saturating_add(self.weight(row) as i64);
            let part = self.time[row].max(from)..end.min(to);
            (!part.is_empty()).then_some((row, part))
        })
    }

    /// Adds up what lasts in some time by node.
    pub(super) fn sum_lasting(&self, ranges: &[(i64, i64)], threads: Option<&ThreadSet>, nodes: usize) -> Sum {
        let mut sum = Sum { own: vec![0.0; nodes], samples: 0 };
        for (from, to) in ranges {
            for (row, part) in self.lasting(*from, *to) {
                if threads.is_none_or(|set| set.contains(self.thread[row])) {
                    sum.own[self.node[row] as usize] += part.end.saturating_sub(part.start) as f64;
                    sum.samples += 1;
                }
            }
        }
        sum
    }
}

/// Time spread over cells that follow each other: what covers a thousand of them costs no more than what covers two.
pub(crate) struct Spread {
    /// What covers a part of a cell, in ns.
    parts: Vec<f64>,
    /// By how much more than the cell before is covered whole.
    rises: Vec<i32>,
}

impl Spread {
    pub(crate) fn over(cells: usize) -> Spread {
        Spread { parts: vec![0.0; cells], rises: vec![0; cells + 1] }
    }

    /// Adds some time that begins in one cell and ends in another; `begin` says where a cell begins.
    pub(crate) fn add(&mut self, time: &Range<i64>, (first, last): (usize, usize), begin: impl Fn(usize) -> i64) {
        let length = |from: i64, to: i64| to.saturating_sub(from).max(0) as f64;
        if first >= last {
            self.parts[first] += length(time.start, time.end);
            return;
        }
        self.parts[first] += length(time.start, begin(first + 1));
        self.parts[last] += length(begin(last), time.end);
        self.rises[first + 1] += 1;
        self.rises[last] -= 1;
    }

    /// The cells with anything in them; `length` says how long a cell is.
    pub(crate) fn filled(self, length: impl Fn(usize) -> f64) -> impl Iterator<Item = (usize, f64)> {
        let mut covered = 0;
        let sums = self.parts.into_iter().zip(self.rises).enumerate().map(move |(cell, (part, rise))| {
            covered += rise;
            (cell, part + f64::from(covered) * length(cell))
        });
        sums.filter(|(_, sum)| *sum > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Frame;

    use super::*;
    use crate::index::stacks::put_on;

    #[test]
    fn the_kernels_stack_stands_on_the_programs() {
        let mut recording = Recording::default();
        let mut stack = |names: [&str; 2]| {
            let frames = names.map(|name| {
                let symbol = recording.strings.intern(name);
                recording.stacks.intern_frame(Frame { symbol, ..Frame::default() })
            });
            recording.stacks.intern_from_root(frames)
        };
        let (below, top) = (stack(["main", "read"]), stack(["sys_read", "io_schedule"]));
        let whole = put_on(&mut recording, below, top);
        let frames = recording.stacks.leaf_to_root(whole);
        let names: Vec<&str> = frames.map(|frame| recording.text(frame.symbol)).collect();
        assert_eq!(names, ["io_schedule", "sys_read", "read", "main"]);
        assert_eq!(put_on(&mut recording, below, top), whole);
    }

    fn waits() -> Event {
        let row = |time, length, thread, node| Row { time, length, thread, node };
        event("waits/lock".to_owned(), vec![row(50, 20, 1, 2), row(0, 100, 0, 1), row(90, 10, 0, 1)]).unwrap()
    }

    #[test]
    fn of_what_is_cut_through_its_part_counts() {
        for (from, to, expected, rows) in [
            (0, 100, [0.0, 110.0, 20.0], 3),
            (60, 65, [0.0, 5.0, 5.0], 2),
            (95, 200, [0.0, 10.0, 0.0], 2),
            (100, 200, [0.0; 3], 0),
        ] {
            let sum = waits().sum(&[(from, to)], None, 3);
            assert_eq!((sum.own, sum.samples), (expected.to_vec(), rows), "{from}..{to}");
        }
        let mut one = ThreadSet::none_of(2);
        one.insert(1);
        assert_eq!(waits().sum(&[(0, 60), (60, 100)], Some(&one), 3).own, [0.0, 0.0, 20.0]);
    }

    #[test]
    fn time_is_spread_over_the_cells_that_it_touches() {
        let mut spread = Spread::over(5);
        for time in [3..8, 12..38, 40..50] {
            let cells = ((time.start / 10) as usize, ((time.end - 1) / 10) as usize);
            spread.add(&time, cells, |cell| cell as i64 * 10);
        }
        let filled: Vec<(usize, f64)> = spread.filled(|_| 10.0).collect();
        assert_eq!(filled, [(0, 5.0), (1, 8.0), (2, 10.0), (3, 8.0), (4, 10.0)]);
    }

    #[test]
    fn what_has_no_stack_is_no_event_and_what_has_no_length_is_counted() {
        let row = |node| Row { time: 7, length: 0, thread: 0, node };
        assert!(event(String::new(), vec![row(0)]).is_none());
        let instants = event(String::new(), vec![row(1), row(0)]).unwrap();
        assert!(!instants.is_lasting());
        assert_eq!(instants.sum(&[(7, 8)], None, 2).own, [1.0, 1.0]);
    }
}
