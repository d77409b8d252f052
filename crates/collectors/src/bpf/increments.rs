//! Sums that only grow, all read at the same instants, as rows of counters.
//!
//! A sum that stays the same makes no rows. When it grows, its value at the reading before is written first unless it
//! is there already, so that the rise is not spread over the quiet time.

use std::hash::Hash;

use fathom_evidence::Recording;
use fathom_evidence::tables::Counter;
use rustc_hash::FxHashMap;

/// The sums of a map, by its keys.
pub(crate) struct Increments<K, V> {
    /// As read last, and when a row of it was written last.
    last: FxHashMap<K, (V, i64)>,
    /// When the reading before was.
    before_ns: i64,
    now_ns: i64,
}

impl<K: Eq + Hash, V: Copy + Default + PartialEq> Increments<K, V> {
    /// All sums are zero at `start_ns`.
    pub(crate) fn new(start_ns: i64) -> Increments<K, V> {
        Increments { last: FxHashMap::default(), before_ns: start_ns, now_ns: start_ns }
    }

    /// A reading begins; what is seen from now on is as of `now_ns`.
    pub(crate) fn read(&mut self, now_ns: i64) {
        self.before_ns = std::mem::replace(&mut self.now_ns, now_ns);
    }

    /// Notes what was read; tells if it grew.
    pub(crate) fn see(&mut self, key: K, now: V) -> Option<Increment<V>> {
        let (before, written_ns) = self.last.get(&key).copied().unwrap_or_default();
        if before == now {
            return None;
        }
        self.last.insert(key, (now, self.now_ns));
        let began_ns = (written_ns != self.before_ns).then_some(self.before_ns);
        Some(Increment { before, began_ns, now, now_ns: self.now_ns })
    }

    /// Forgets a key that is in no map any more.
    pub(crate) fn forget(&mut self, key: &K) {
        self.last.remove(key);
    }

    /// Keeps what is known of the keys that `keep` names: the others are in no map any more.
    pub(crate) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.last.retain(|key, _| keep(key));
    }
}

/// One number of several sums.
pub(crate) type Part<V> = fn(&V) -> u64;

/// Sums that have grown between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Increment<V> {
    before: V,
    /// When the reading before was, if it left no row.
    began_ns: Option<i64>,
    now: V,
    now_ns: i64,
}

impl<V: Copy> Increment<V> {
    /// Writes one of the numbers, if it is one of those that grew.
    pub(crate) fn write(&self, found: &mut Recording, counter: &Counter, number: impl Fn(&V) -> u64) {
        let (before, now) = (number(&self.before), number(&self.now));
        if before != now {
            if let Some(began_ns) = self.began_ns {
                found.counters.push(Counter { time_ns: began_ns, value: before as f64, ..*counter });
            }
            found.counters.push(Counter { time_ns: self.now_ns, value: now as f64, ..*counter });
        }
    }
}

/// Which number rows are about.
pub(crate) fn counter(found: &mut Recording, name: &str, instance: &str, tid: u32, source: &str) -> Counter {
    Counter {
        name: found.strings.intern(name),
        instance: found.strings.intern(instance),
        tid: i64::from(tid),
        source: found.strings.intern(source),
        ..Counter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_has_a_row_where_it_begins() {
        let readings = [(20, 0), (30, 5), (40, 5), (50, 5), (60, 7), (70, 9)];
        let mut increments = Increments::new(10);
        let mut found = Recording::default();
        let row = counter(&mut found, "sum_ns", "", 1, "test");
        for (now_ns, value) in readings {
            increments.read(now_ns);
            if let Some(rise) = increments.see("key", value) {
                rise.write(&mut found, &row, |value| *value);
            }
        }
        let rows: Vec<(i64, f64)> = found.counters.rows().map(|row| (row.time_ns, row.value)).collect();
        assert_eq!(rows, [(20, 0.0), (30, 5.0), (50, 5.0), (60, 7.0), (70, 9.0)]);
    }

    #[test]
    fn numbers_that_stay_have_no_rows() {
        let mut increments = Increments::new(10);
        let mut found = Recording::default();
        let row = counter(&mut found, "sum_ns", "", 1, "test");
        increments.read(20);
        let rise = increments.see("key", (1, 0)).unwrap();
        rise.write(&mut found, &row, |value| value.1);
        assert!(found.counters.time_ns.is_empty());
        assert_eq!(increments.see("key", (1, 0)), None);
        increments.forget(&"key");
        assert!(increments.see("key", (1, 0)).is_some());
    }
}
