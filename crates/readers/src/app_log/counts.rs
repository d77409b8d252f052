//! How many messages there were of each template, in steps of a second, or of more where a log is long. Knows no evidence.

use crate::app_log::templates::Id;

const SECOND_NS: i64 = 1_000_000_000;

/// So many counts are kept; when there are more, steps become twice as long.
const COUNTS_MAX: usize = 400_000;

/// Counts that may be kept twice, for lines that are out of order.
const LOOSE_MAX: usize = 2 * COUNTS_MAX;

/// Messages of a template within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Count {
    pub(super) template: Id,
    /// The number of the step since the epoch.
    pub(super) step: i64,
    pub(super) count: u32,
}

/// The counts of a log.
#[derive(Debug)]
pub(super) struct Counts {
    step_ns: i64,
    /// In any order, and several of a step.
    done: Vec<Count>,
    /// The last of each template.
    open: Vec<Count>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { step_ns: SECOND_NS, done: Vec::new(), open: Vec::new() }
    }
}

impl Counts {
    pub(super) fn add(&mut self, template: Id, time_ns: i64) {
        let step = time_ns.div_euclid(self.step_ns);
        let at = template as usize;
        while self.open.len() <= at {
            self.open.push(Count { template: self.open.len() as Id, step, count: 0 });
        }
        let open = &mut self.open[at];
        if open.step != step {
            self.done.extend(Some(*open).filter(|count| count.count > 0));
            *open = Count { template, step, count: 0 };
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

    /// How long a step is in ns, and all counts, by template and time; each template under another number.
    pub(super) fn finish(mut self, named: impl Fn(Id) -> Id) -> (i64, Vec<Count>) {
        self.done.extend(self.open.drain(..).filter(|count| count.count > 0));
        self.done.iter_mut().for_each(|count| count.template = named(count.template));
        self.tighten();
        (self.step_ns, self.done)
    }
}

fn add_up(counts: &mut Vec<Count>) {
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let is_same = (next.template, next.step) == (kept.template, kept.step);
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
        for (template, ms) in [(1, 500), (1, 900), (1, 2_500), (1, 1_999), (1, 999), (0, 5)] {
            counts.add(template, ms * 1_000_000);
        }
        let count = |template, step, count| Count { template, step, count };
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
