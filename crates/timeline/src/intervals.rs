//! Sets of time.

use std::collections::BTreeMap;

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

    /// The same by whose they are: stretches (whose, beginning, end) in any order, which may overlap.
    pub fn by_key<K: Ord>(stretches: impl IntoIterator<Item = (K, i64, i64)>) -> BTreeMap<K, Intervals> {
        let mut spans: BTreeMap<K, Vec<(i64, i64)>> = BTreeMap::new();
        for (key, from_ns, to_ns) in stretches {
            spans.entry(key).or_default().push((from_ns, to_ns));
        }
        spans.into_iter().map(|(key, spans)| (key, Intervals::union(spans))).collect()
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

    /// The part of this set that lies in `other` as well.
    #[must_use]
    pub fn intersect(&self, other: &Intervals) -> Intervals {
        let mut common = Vec::new();
        let (mut left, mut right) = (self.spans.iter().peekable(), other.spans.iter().peekable());
        while let (Some((from, to)), Some((other_from, other_to))) = (left.peek(), right.peek()) {
            common.push((*from.max(other_from), *to.min(other_to)));
            if to <= other_to {
                left.next()
            } else {
                right.next()
            };
        }
        Intervals::union(common)
    }

    /// The part of this set that does not lie in `other`.
    #[must_use]
    pub fn subtract(&self, other: &Intervals) -> Intervals {
        let gaps = self.iter().flat_map(|(from, to)| other.gaps(from, to));
        Intervals::union(gaps.collect())
    }

    /// The part of the set within `from_ns..to_ns`.
    #[must_use]
    pub fn clip(&self, from_ns: i64, to_ns: i64) -> Intervals {
        Intervals::union(self.overlapping(from_ns, to_ns).collect())
    }

    /// The stretches that overlap `from_ns..to_ns`, cut to it.
    pub fn overlapping(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.spans.partition_point(|(_, to)| *to <= from_ns);
        let near = self.spans[first..].iter().take_while(move |(from, _)| *from < to_ns);
        near.map(move |(from, to)| (*from.max(&from_ns), *to.min(&to_ns))).filter(|(from, to)| from < to)
    }

    /// What of `from_ns..to_ns` the set leaves free.
    pub fn gaps(&self, from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let mut at = from_ns;
        for (from, to) in self.overlapping(from_ns, to_ns) {
            gaps.push((at, from));
            at = to;
        }
        gaps.push((at, to_ns));
        gaps.retain(|(from, to)| from < to);
        gaps
    }

    /// Whether any of `from_ns..to_ns` lies in the set; an instant lies in it as a point.
    pub fn touches(&self, from_ns: i64, to_ns: i64) -> bool {
        if from_ns >= to_ns { self.contains(from_ns) } else { self.within_ns(from_ns, to_ns) > 0 }
    }

    /// Its first instant and its end.
    pub fn extent(&self) -> Option<(i64, i64)> {
        Some((self.spans.first()?.0, self.spans.last()?.1))
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
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

    #[test]
    fn sets_are_combined() {
        let set = |spans: &[(i64, i64)]| Intervals::union(spans.to_vec());
        for (left, right, common, rest) in [
            (set(&[(0, 10)]), set(&[]), set(&[]), set(&[(0, 10)])),
            (set(&[(0, 10)]), set(&[(2, 3), (5, 20)]), set(&[(2, 3), (5, 10)]), set(&[(0, 2), (3, 5)])),
            (set(&[(0, 4), (6, 9)]), set(&[(3, 7)]), set(&[(3, 4), (6, 7)]), set(&[(0, 3), (7, 9)])),
            (set(&[(0, 4), (6, 9)]), set(&[(0, 9)]), set(&[(0, 4), (6, 9)]), set(&[])),
            (set(&[(5, 6)]), set(&[(0, 1), (8, 9)]), set(&[]), set(&[(5, 6)])),
        ] {
            assert_eq!(left.intersect(&right), common);
            assert_eq!(right.intersect(&left), common);
            assert_eq!(left.subtract(&right), rest);
            assert_eq!(common.total_ns() + rest.total_ns(), left.total_ns());
        }
        assert_eq!(set(&[(0, 4), (6, 9)]).clip(2, 7), set(&[(2, 4), (6, 7)]));
        assert!(set(&[(0, 4)]).touches(3, 3) && !set(&[(0, 4)]).touches(4, 4));
    }
}
