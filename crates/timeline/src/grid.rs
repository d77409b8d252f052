//! Time cut into seconds.

use std::ops::Range;

use crate::intervals::Intervals;

/// Length of one bucket, in ns. A second is what people read in latency charts, and long enough
/// for the one-second counters of JFR.
pub const BUCKET_NS: i64 = 1_000_000_000;

/// A slow stretch is compared with a baseline no farther away than this, or than it is long itself: five minutes hold most of
/// what comes again and again, and what a service does by night is no measure for its day.
pub(crate) const NEAR_BUCKETS: usize = 300;

/// A recording longer than this is cut at its beginning, in buckets: memory stays bounded
/// whatever time stamps a file has. Two weeks of a log that was not rotated take 200 MB.
const BUCKETS_MAX: i64 = 14 * 24 * 3600;

/// What is left out at the end of a recording is no more than this part of it, inverted: a twentieth.
const RESTS_LEFT_OUT: i64 = 20;

/// Consecutive buckets of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Beginning of the first bucket, in ns since the Unix epoch.
    pub start_ns: i64,
    /// How many buckets.
    pub len: usize,
}

impl Grid {
    /// The grid that covers `from_ns..to_ns`. A last bucket that is less than half full is left
    /// out, unless that would leave out a good part of a short recording.
    pub fn covering(from_ns: i64, to_ns: i64) -> Grid {
        let length_ns = to_ns.saturating_sub(from_ns).max(0);
        let (whole, rest_ns) = (length_ns / BUCKET_NS, length_ns % BUCKET_NS);
        let is_part_of_it = rest_ns > length_ns / RESTS_LEFT_OUT;
        let rest = i64::from(rest_ns >= BUCKET_NS / 2 || is_part_of_it);
        let buckets = (whole + rest).max(1);
        let len = buckets.min(BUCKETS_MAX);
        Grid { start_ns: from_ns.saturating_add((buckets - len).saturating_mul(BUCKET_NS)), len: len as usize }
    }

    /// End of the last bucket.
    pub fn end_ns(self) -> i64 {
        self.start_of(self.len)
    }

    /// Beginning of bucket `index`.
    pub fn start_of(self, index: usize) -> i64 {
        self.start_ns.saturating_add((index as i64).saturating_mul(BUCKET_NS))
    }

    /// The bucket that `time_ns` falls into.
    pub fn bucket_of(self, time_ns: i64) -> Option<usize> {
        let offset = time_ns.checked_sub(self.start_ns)?;
        let index = usize::try_from(offset.div_euclid(BUCKET_NS)).ok()?;
        (index < self.len).then_some(index)
    }

    /// The time of some buckets.
    pub fn time_of(self, buckets: &Range<usize>) -> (i64, i64) {
        (self.start_of(buckets.start), self.start_of(buckets.end))
    }

    /// The buckets that `from_ns..to_ns` overlaps.
    pub fn buckets_of(self, from_ns: i64, to_ns: i64) -> Range<usize> {
        let (from, to) = (from_ns.max(self.start_ns), to_ns.min(self.end_ns()));
        if from >= to {
            return 0..0;
        }
        self.bucket_of(from).unwrap_or(0)..self.bucket_of(to - 1).unwrap_or(self.len - 1) + 1
    }

    /// Adds `amount` to the buckets of `from_ns..to_ns`, each by its part of that time. An instant
    /// goes into its bucket whole.
    pub fn spread(self, buckets: &mut [f64], from_ns: i64, to_ns: i64, amount: f64) {
        let length = to_ns.saturating_sub(from_ns);
        if length <= 0 {
            if let Some(index) = self.bucket_of(from_ns) {
                buckets[index] += amount;
            }
            return;
        }
        let (from, to) = (from_ns.max(self.start_ns), to_ns.min(self.end_ns()));
        for index in self.buckets_of(from, to) {
            let overlap = to.min(self.start_of(index + 1)) - from.max(self.start_of(index));
            buckets[index] += amount * (overlap as f64 / length as f64);
        }
    }

    /// The time of the marked buckets.
    pub fn marked(self, marks: &[bool]) -> Intervals {
        let marked = marks.iter().enumerate().filter(|(_, is)| **is);
        Intervals::union(marked.map(|(index, _)| (self.start_of(index), self.start_of(index + 1))).collect())
    }

    /// A row of zeros, one per bucket.
    pub fn zeros(self) -> Vec<f64> {
        vec![0.0; self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = BUCKET_NS;

    #[test]
    fn amounts_are_kept_when_spread() {
        let grid = Grid::covering(100, 100 + 4 * S);
        assert_eq!(grid.len, 4);
        for (from, to, expected) in [
            (100, 100 + S, [8.0, 0.0, 0.0, 0.0]),
            (100 + S / 2, 100 + S + S / 2, [4.0, 4.0, 0.0, 0.0]),
            (100, 100 + 4 * S, [2.0, 2.0, 2.0, 2.0]),
            (100 + 2 * S, 100 + 2 * S, [0.0, 0.0, 8.0, 0.0]),
            (100 - S, 100 + S, [4.0, 0.0, 0.0, 0.0]),
            (0, 1, [0.0; 4]),
        ] {
            let mut buckets = grid.zeros();
            grid.spread(&mut buckets, from, to, 8.0);
            assert_eq!(buckets, expected, "{from}..{to}");
        }
    }

    #[test]
    fn absurd_times_stay_bounded() {
        let grid = Grid::covering(i64::MIN, i64::MAX);
        assert_eq!(grid.len as i64, BUCKETS_MAX);
        assert_eq!(Grid::covering(5, 5).len, 1);
        assert_eq!(Grid::covering(0, S + S / 4).len, 2, "a fifth of it");
        assert_eq!(Grid::covering(0, 60 * S + S / 4).len, 60);
        let mut buckets = grid.zeros();
        grid.spread(&mut buckets, i64::MIN, i64::MAX, 1.0);
    }
}
