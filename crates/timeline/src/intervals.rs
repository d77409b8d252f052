//! Sets of time, and the slow intervals of a recording.

use crate::signals::SignalKind;

/// A stretch of time in which the service was slow.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowInterval {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// The signal that shows it best.
    pub signal: SignalKind,
    /// Worst value of that signal in it, in the signal's unit.
    pub worst: f64,
}

/// Disjoint stretches of time in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Intervals {
    spans: Vec<(i64, i64)>,
    /// Length of all stretches before each one.
    before_ns: Vec<i64>,
}

impl Intervals {
    /// The union of stretches given in any order.
    pub fn union(mut spans: Vec<(i64, i64)>) -> Intervals {
        spans.retain(|(from, to)| from < to);
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        let mut sum = 0_i64;
        let before_ns = merged
            .iter()
            .map(|(from, to)| {
                let before = sum;
                sum = sum.saturating_add(to.saturating_sub(*from));
                before
            })
            .collect();
        Intervals { spans: merged, before_ns }
    }

    /// How much of `from_ns..to_ns` lies in the set, in ns.
    pub fn within_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        self.before(to_ns).saturating_sub(self.before(from_ns)).max(0)
    }

    /// How much of the set lies before `time_ns`, in ns.
    fn before(&self, time_ns: i64) -> i64 {
        let next = self.spans.partition_point(|(from, _)| *from < time_ns);
        let Some(index) = next.checked_sub(1) else { return 0 };
        let (from, to) = self.spans[index];
        self.before_ns[index].saturating_add(to.min(time_ns).saturating_sub(from))
    }

    /// Whether an instant lies in the set.
    pub fn contains(&self, time_ns: i64) -> bool {
        let next = self.spans.partition_point(|(from, _)| *from <= time_ns);
        next.checked_sub(1).is_some_and(|index| time_ns < self.spans[index].1)
    }

    /// The stretches in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.spans.iter().copied()
    }

    /// Length of the whole set, in ns.
    pub fn total_ns(&self) -> i64 {
        self.iter().fold(0, |sum, (from, to)| sum.saturating_add(to.saturating_sub(from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_measured() {
        let set = Intervals::union(vec![(30, 40), (10, 20), (15, 25), (50, 50)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 25), (30, 40)]);
        for (from, to, expected) in [(0, 100, 25), (0, 10, 0), (12, 32, 15), (24, 31, 2), (35, 35, 0), (41, 99, 0)] {
            assert_eq!(set.within_ns(from, to), expected, "{from}..{to}");
        }
        assert!(set.contains(10) && set.contains(24) && !set.contains(25) && !set.contains(9));
        assert_eq!(set.total_ns(), 25);
        Intervals::union(vec![(i64::MIN, i64::MAX)]).within_ns(i64::MIN, i64::MAX);
    }
}
