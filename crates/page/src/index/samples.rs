//! Samples by event, sorted by time, in as few bytes as possible.
//!
//! The table of the recording is dismantled for this: afterwards its rows exist only here, in less than half of the
//! memory.

use std::ops::Range;

use fathom_evidence::kinds::event;
use fathom_evidence::{Recording, StrId};
use rayon::prelude::*;

use super::threads::{ThreadSet, Threads};
use crate::axis::Axis;

/// Events in the order in which they are offered; the first one that a recording has is the default.
const ORDER: &[&str] = &[
    event::CPU,
    event::EXECUTION,
    event::WALL,
    event::NATIVE,
    event::ALLOCATION,
    event::SAMPLED,
    event::CPU_UNTIMED,
    event::SAMPLED_UNTIMED,
    event::ALLOCATION_UNTIMED,
];

/// Fewer samples than this are added up by one thread.
const ALONE: usize = 1 << 17;

/// What the weight of a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Samples,
    Nanoseconds,
    Bytes,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Samples => "samples",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
        }
    }
}

/// Weights of samples: mostly all the same, else small.
#[derive(Debug)]
pub(super) enum Weights {
    Same(f64),
    Small(Vec<u32>),
    Large(Vec<f64>),
}

impl Weights {
    pub(super) fn of(values: impl Iterator<Item = i64> + Clone) -> Weights {
        let (least, most) = values.clone().fold((i64::MAX, i64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if least >= most {
            Weights::Same(least as f64)
        } else if u32::try_from(most).is_ok() && least >= 0 {
            Weights::Small(values.map(|value| value as u32).collect())
        } else {
            Weights::Large(values.map(|value| value as f64).collect())
        }
    }
}

/// The samples of one event.
#[derive(Debug)]
pub(crate) struct Event {
    /// Word of the event.
    pub(crate) word: String,
    pub(crate) unit: Unit,
    /// In ns since the origin, ascending.
    pub(crate) time: Vec<i64>,
    /// Number of the thread.
    pub(crate) thread: Vec<u32>,
    /// Node of the stack in the tree.
    pub(crate) node: Vec<u32>,
    pub(super) weight: Weights,
    /// Of what lasts, the longest: its weight is its length. Samples are instants: 0.
    pub(super) longest: i64,
}

/// Takes the samples out of a recording.
pub(crate) fn take(recording: &mut Recording, axis: &Axis, threads: &Threads, node_of_stack: &[u32]) -> Vec<Event> {
    let mut table = std::mem::take(&mut recording.samples);
    let rows = rows_by_event(&table.event, &table.time_ns);
    let mut events: Vec<Event> = rows
        .iter()
        .map(|(word, rows)| Event {
            word: recording.text(*word).to_owned(),
            unit: unit(rows, &table.weight_ns, &table.size_bytes),
            time: gather(rows, |row| axis.at(table.time_ns[row])),
            thread: Vec::new(),
            node: Vec::new(),
            weight: Weights::Same(1.0),
            longest: 0,
        })
        .collect();
    table.time_ns = Vec::new();
    table.cpu = Vec::new();
    table.state = Vec::new();
    for (event, (_, rows)) in events.iter_mut().zip(&rows) {
        let at = |values: &[i64]| Weights::of(rows.iter().map(|row| values[*row as usize]));
        event.weight = match event.unit {
            Unit::Samples => Weights::Same(1.0),
            Unit::Nanoseconds => at(&table.weight_ns),
            Unit::Bytes => at(&table.size_bytes),
        };
    }
    table.weight_ns = Vec::new();
    table.size_bytes = Vec::new();
    for (event, (_, rows)) in events.iter_mut().zip(&rows) {
        event.thread = gather(rows, |row| threads.number(table.tid[row]));
        event.node = gather(rows, |row| node_of_stack.get(table.stack_id[row].0 as usize).copied().unwrap_or(0));
    }
    events.sort_by_key(|event| ORDER.iter().position(|word| *word == event.word).unwrap_or(ORDER.len()));
    events
}

/// The rows of each event, by time.
fn rows_by_event(events: &[StrId], time_ns: &[i64]) -> Vec<(StrId, Vec<u32>)> {
    let mut found: Vec<(StrId, Vec<u32>)> = Vec::new();
    for (row, event) in (0..).zip(events) {
        match found.iter_mut().find(|(known, _)| known == event) {
            Some((_, rows)) => rows.push(row),
            None => found.push((*event, vec![row])),
        }
    }
    for (_, rows) in &mut found {
        if !rows.is_sorted_by_key(|row| time_ns[*row as usize]) {
            rows.par_sort_unstable_by_key(|row| (time_ns[*row as usize], *row));
        }
    }
    found
}

fn gather<T: Send>(rows: &[u32], value: impl Fn(usize) -> T + Sync) -> Vec<T> {
    rows.par_iter().map(|row| value(*row as usize)).collect()
}

/// Time or bytes if every sample has some, so that none is left out; else each counts for one.
fn unit(rows: &[u32], weight_ns: &[i64], size_bytes: &[i64]) -> Unit {
    let all = |values: &[i64]| rows.iter().all(|row| values[*row as usize] > 0);
    match () {
        () if all(weight_ns) => Unit::Nanoseconds,
        () if all(size_bytes) => Unit::Bytes,
        () => Unit::Samples,
    }
}

/// Samples added up.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    /// Weight of each node of the tree itself.
    pub(crate) own: Vec<f64>,
    pub(crate) samples: u64,
}

impl Event {
    /// Whether its samples were taken of threads that ran.
    pub(crate) fn is_on_cpu(&self) -> bool {
        matches!(self.word.as_str(), event::CPU | event::EXECUTION)
    }

    pub(crate) fn len(&self) -> usize {
        self.time.len()
    }

    /// The samples of `from..to`.
    pub(crate) fn within(&self, from: i64, to: i64) -> Range<usize> {
        let first = self.time.partition_point(|time| *time < from);
        first..first + self.time[first..].partition_point(|time| *time < to)
    }

    #[inline]
    pub(crate) fn weight(&self, index: usize) -> f64 {
        match &self.weight {
            Weights::Same(weight) => *weight,
            Weights::Small(weights) => f64::from(weights[index]),
            Weights::Large(weights) => weights[index],
        }
    }

    /// Adds up the samples of some time by node.
    pub(crate) fn sum(&self, ranges: &[(i64, i64)], threads: Option<&ThreadSet>, nodes: usize) -> Sum {
        if self.is_lasting() {
            return self.sum_lasting(ranges, threads, nodes);
        }
        let ranges: Vec<Range<usize>> = ranges.iter().map(|(from, to)| self.within(*from, *to)).collect();
        let parts = split(&ranges);
        let sums = parts.into_par_iter().map(|ranges| {
            let mut sum = Sum { own: vec![0.0; nodes], samples: 0 };
            ranges.into_iter().for_each(|range| self.add(range, threads, &mut sum));
            sum
        });
        sums.reduce_with(Sum::plus).unwrap_or_else(|| Sum { own: vec![0.0; nodes], samples: 0 })
    }

    fn add(&self, range: Range<usize>, threads: Option<&ThreadSet>, sum: &mut Sum) {
        match &self.weight {
            Weights::Same(weight) => self.add_with(range, threads, sum, |_| *weight),
            Weights::Small(weights) => self.add_with(range, threads, sum, |index| f64::from(weights[index])),
            Weights::Large(weights) => self.add_with(range, threads, sum, |index| weights[index]),
        }
    }

    #[inline]
    fn add_with(&self, range: Range<usize>, threads: Option<&ThreadSet>, sum: &mut Sum, weight: impl Fn(usize) -> f64) {
        let Some(threads) = threads else {
            sum.samples += range.len() as u64;
            let nodes = &self.node[range.clone()];
            nodes.iter().zip(range).for_each(|(node, index)| sum.own[*node as usize] += weight(index));
            return;
        };
        for index in range {
            if threads.contains(self.thread[index]) {
                sum.samples += 1;
                sum.own[self.node[index] as usize] += weight(index);
            }
        }
    }
}

impl Sum {
    fn plus(mut self, other: Sum) -> Sum {
        self.own.iter_mut().zip(&other.own).for_each(|(sum, own)| *sum += own);
        self.samples += other.samples;
        self
    }
}

/// Ranges in one part per processor, each of about as many samples; one part when there are few.
fn split(ranges: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    let all: usize = ranges.iter().map(Range::len).sum();
    let parts = if all < ALONE { 1 } else { rayon::current_num_threads() };
    let each = all.div_ceil(parts).max(1);
    let mut split = vec![Vec::new()];
    let mut room = each;
    for range in ranges {
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + room);
            split.last_mut().into_iter().for_each(|part: &mut Vec<Range<usize>>| part.push(from..to));
            room -= to - from;
            from = to;
            if room == 0 {
                split.push(Vec::new());
                room = each;
            }
        }
    }
    split.retain(|part| !part.is_empty());
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_keeps_every_sample_once() {
        let many = vec![0..ALONE * 3, ALONE * 4..ALONE * 4 + 7, 900_000..900_001];
        for ranges in [Vec::new(), std::iter::once(0..10).collect(), many] {
            let mut all: Vec<usize> = split(&ranges).into_iter().flatten().flatten().collect();
            all.sort_unstable();
            let mut expected: Vec<usize> = ranges.into_iter().flatten().collect();
            expected.sort_unstable();
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn weights_are_kept_whatever_their_size() {
        for values in [vec![7, 7], vec![0, 5], vec![1, i64::MAX], vec![-3, 4], vec![]] {
            let weights = Weights::of(values.iter().copied());
            for (index, value) in values.iter().enumerate() {
                let kept = match &weights {
                    Weights::Same(weight) => *weight,
                    Weights::Small(weights) => f64::from(weights[index]),
                    Weights::Large(weights) => weights[index],
                };
                assert_eq!(kept, *value as f64);
            }
        }
    }
}
