//! Calls to sums of each thread and call, second by second. Knows no evidence but the ids of texts.

use std::collections::BTreeMap;

use fathom_evidence::StrId;
use rustc_hash::FxHashMap;

const SECOND_NS: i64 = 1_000_000_000;

/// Thread, and the name under which its calls are counted.
pub(super) type Key = (i64, StrId);

/// What some calls come to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: i64,
    pub(super) failed: i64,
    pub(super) ns: i64,
    pub(super) bytes: i64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count = self.count.saturating_add(other.count);
        self.failed = self.failed.saturating_add(other.failed);
        self.ns = self.ns.saturating_add(other.ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Sum {
    /// Its numbers, always in the same order.
    pub(super) fn numbers(self) -> [i64; 4] {
        [self.count, self.failed, self.ns, self.bytes]
    }
}

/// A number of one key rose: which of [`Sum::numbers`], and what it was and is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rise {
    pub(super) key: Key,
    pub(super) which: usize,
    /// When it began to rise and what it was then, unless that stands where its last rise ended.
    pub(super) before: Option<(i64, i64)>,
    pub(super) after: (i64, i64),
}

/// Adds calls up.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// What has not been given away yet, by second.
    seconds: BTreeMap<i64, FxHashMap<Key, Sum>>,
    /// What each has come to, and when each of its numbers rose last.
    totals: FxHashMap<Key, (Sum, [i64; 4])>,
}

impl Sums {
    /// Takes calls that ended at an instant.
    pub(super) fn add(&mut self, ended_ns: i64, key: Key, sum: Sum) {
        let second = self.seconds.entry(ended_ns.div_euclid(SECOND_NS)).or_default();
        second.entry(key).or_default().add(sum);
    }

    /// The rises of all seconds that are over at `now_ns`.
    pub(super) fn over(&mut self, now_ns: i64) -> Vec<Rise> {
        let this = now_ns.div_euclid(SECOND_NS);
        let mut rises = Vec::new();
        while let Some(entry) = self.seconds.first_entry().filter(|entry| *entry.key() < this) {
            let (second, sums) = entry.remove_entry();
            self.rises_of(second, sums, &mut rises);
        }
        rises
    }

    /// The rises of all that is left.
    pub(super) fn end(&mut self) -> Vec<Rise> {
        self.over(i64::MAX)
    }

    fn rises_of(&mut self, second: i64, sums: FxHashMap<Key, Sum>, rises: &mut Vec<Rise>) {
        let from_ns = second.saturating_mul(SECOND_NS);
        let to_ns = from_ns.saturating_add(SECOND_NS);
        let mut sums: Vec<(Key, Sum)> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        for (key, sum) in sums {
            let (total, rose_ns) = self.totals.entry(key).or_insert((Sum::default(), [i64::MIN; 4]));
            let before = total.numbers();
            total.add(sum);
            for (which, (was, is)) in
                before.into_iter().zip(total.numbers()).enumerate().filter(|(_, (was, is))| was != is)
            {
                let begins = (rose_ns[which] != from_ns).then_some((from_ns, was));
                rises.push(Rise { key, which, before: begins, after: (to_ns, is) });
                rose_ns[which] = to_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_where_a_rise_begins_and_ends() {
        let mut sums = Sums::default();
        let one = Sum { count: 1, ns: 5, ..Sum::default() };
        let key = (7, StrId(1));
        for ms in [1_100, 1_900, 2_000, 5_500] {
            sums.add(ms * 1_000_000, key, one);
        }
        let rows = |rises: Vec<Rise>| {
            let counts = rises.into_iter().filter(|rise| rise.which == 0);
            let rows = counts.flat_map(|rise| rise.before.into_iter().chain([rise.after]));
            rows.map(|(at, value)| (at / SECOND_NS, value)).collect::<Vec<_>>()
        };
        assert_eq!(rows(sums.over(3 * SECOND_NS)), [(1, 0), (2, 2), (3, 3)]);
        assert_eq!(rows(sums.end()), [(5, 3), (6, 4)]);
    }
}
