//! Counts the lines of a log by kind, in steps of a second, or longer steps where a log is long.

use std::hash::Hasher;
use std::path::PathBuf;

use fathom_evidence::{Recording, SERIES_FROM, StrId};
use rustc_hash::FxHasher;

use crate::rates::{Rates, Which};

/// Which kind.
pub(crate) type Id = u32;

const SECOND_NS: i64 = 1_000_000_000;

/// So many counts are kept; when there are more, steps become twice as long.
const COUNTS_MAX: usize = 400_000;

/// Counts that may be kept twice, for lines that are out of order.
const LOOSE_MAX: usize = 2 * COUNTS_MAX;

/// Lines of a kind within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    kind: Id,
    /// The number of the step since the epoch.
    step: i64,
    count: u32,
}

/// The counts of a log.
#[derive(Debug)]
pub(crate) struct Counts {
    step_ns: i64,
    /// In any order, and several of a step.
    done: Vec<Count>,
    /// The last of each kind.
    open: Vec<Count>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { step_ns: SECOND_NS, done: Vec::new(), open: Vec::new() }
    }
}

impl Counts {
    pub(crate) fn add(&mut self, kind: Id, time_ns: i64) {
        let step = time_ns.div_euclid(self.step_ns);
        let at = kind as usize;
        while self.open.len() <= at {
            self.open.push(Count { kind: self.open.len() as Id, step, count: 0 });
        }
        let open = &mut self.open[at];
        if open.step != step {
            self.done.extend(Some(*open).filter(|count| count.count > 0));
            *open = Count { kind, step, count: 0 };
        }
        open.count = open.count.saturating_add(1);
        if self.done.len() >= LOOSE_MAX {
            self.tighten();
        }
    }

    /// Adds up what is of one step, and makes steps longer until there are not too many.
    fn tighten(&mut self) {
        add_up(&mut self.done);
        while self.done.len() > COUNTS_MAX {
            self.step_ns = self.step_ns.saturating_mul(2);
            self.done.iter_mut().chain(&mut self.open).for_each(|count| count.step = count.step.div_euclid(2));
            add_up(&mut self.done);
        }
    }

    /// Writes them as the counter `name`, of the kinds' names. Kinds of one name are one.
    pub(crate) fn write(self, recording: &mut Recording, source: &str, (name, series): (&str, i64), names: &[StrId]) {
        let (step_ns, counts) = self.finish(|id| names.get(id as usize).copied().unwrap_or_default().0);
        let mut rates = Rates::default();
        for count in counts {
            let instance = recording.text(StrId(count.kind)).to_owned();
            let which = Which { name, instance: &instance, tid: series };
            let from_ns = count.step.saturating_mul(step_ns);
            let over = (from_ns, from_ns.saturating_add(step_ns));
            rates.add(recording, source, which, over, f64::from(count.count));
        }
        rates.finish(recording, source);
    }

    /// How long a step is in ns, and all counts, by kind and time; each kind under another number.
    fn finish(mut self, named: impl Fn(Id) -> Id) -> (i64, Vec<Count>) {
        self.done.extend(self.open.drain(..).filter(|count| count.count > 0));
        self.done.iter_mut().for_each(|count| count.kind = named(count.kind));
        self.tighten();
        (self.step_ns, self.done)
    }
}

/// The series of logs that are read together: those of others are no part of their sums, even where these are of the same process.
pub(crate) fn series_of(files: &[PathBuf]) -> i64 {
    let mut hasher = FxHasher::default();
    files.iter().for_each(|file| hasher.write(file.as_os_str().as_encoded_bytes()));
    // No thread has so high a number.
    (hasher.finish() >> 24) as i64 | SERIES_FROM
}

fn add_up(counts: &mut Vec<Count>) {
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let is_same = (next.kind, next.step) == (kept.kind, kept.step);
        if is_same {
            kept.count = kept.count.saturating_add(next.count);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_out_of_order_are_counted_where_they_belong() {
        let mut counts = Counts::default();
        for (kind, ms) in [(1, 500), (1, 900), (1, 2_500), (1, 1_999), (1, 999), (0, 5)] {
            counts.add(kind, ms * 1_000_000);
        }
        let count = |kind, step, count| Count { kind, step, count };
        let expected = vec![count(0, 0, 1), count(1, 0, 3), count(1, 1, 1), count(1, 2, 1)];
        assert_eq!(counts.finish(|id| id), (SECOND_NS, expected));
    }

    #[test]
    fn steps_become_longer() {
        let mut counts = Counts::default();
        let lines = 3 * COUNTS_MAX as i64;
        (0..lines).for_each(|second| counts.add(3, second * SECOND_NS));
        let (step_ns, counts) = counts.finish(|id| id);
        assert!(counts.len() <= COUNTS_MAX && step_ns == 4 * SECOND_NS, "{} {step_ns}", counts.len());
        assert_eq!(counts.iter().map(|count| i64::from(count.count)).sum::<i64>(), lines);
    }
}
