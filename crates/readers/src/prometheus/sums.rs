//! Rises of several series, added up by the time at which they ended.

use std::collections::BTreeMap;

/// Times that are kept of one sum.
const TIMES_MAX: usize = 1 << 18;

/// What all series rose by, up to each time from the one before it on.
#[derive(Debug, Default)]
pub(super) struct Sum {
    rises: BTreeMap<i64, f64>,
    /// Rises that there was no room for.
    pub(super) left_out: i64,
}

impl Sum {
    /// One of the series rose from one time to another.
    pub(super) fn add(&mut self, (from_ns, to_ns): (i64, i64), amount: f64) {
        if self.rises.len() >= TIMES_MAX && !self.rises.contains_key(&to_ns) {
            self.left_out += 1;
            return;
        }
        self.rises.entry(from_ns).or_insert(0.0);
        *self.rises.entry(to_ns).or_insert(0.0) += amount;
    }

    /// From when to when, and by how much, in order.
    pub(super) fn rises(&self) -> impl Iterator<Item = ((i64, i64), f64)> + '_ {
        self.rises.keys().zip(self.rises.iter().skip(1)).map(|(from_ns, (to_ns, amount))| ((*from_ns, *to_ns), *amount))
    }

    /// What it rose by up to a time.
    pub(super) fn at(&self, to_ns: i64) -> f64 {
        self.rises.get(&to_ns).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_that_comes_later() {
        let mut sum = Sum::default();
        for (interval, amount) in [((0, 10), 1.0), ((10, 20), 2.0), ((10, 20), 5.0)] {
            sum.add(interval, amount);
        }
        assert_eq!(sum.rises().collect::<Vec<_>>(), [((0, 10), 1.0), ((10, 20), 7.0)]);
        assert_eq!((sum.at(20), sum.at(7)), (7.0, 0.0));
    }
}
