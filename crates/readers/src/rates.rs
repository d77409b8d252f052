//! Rates of a table, second by second, as counters that only grow: what the account reads.
//!
//! A tool prints how often something happened per second since its last row. Here these are summed up again from the first row on. Only rises of such
//! a counter mean anything, and so it begins at zero whatever the kernel had counted before.

use std::collections::HashMap;

use fathom_evidence::tables::Counter;
use fathom_evidence::{Recording, StrId};

/// Sums of rates.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// What each came to, and when that was.
    totals: HashMap<(StrId, StrId, i64), (i64, f64)>,
}

/// Which counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Which<'a> {
    pub(crate) name: &'a str,
    pub(crate) instance: &'a str,
    /// 0 for the whole machine or process.
    pub(crate) tid: i64,
}

impl Rates {
    /// Adds what happened from one time to another.
    pub(crate) fn add(
        &mut self,
        recording: &mut Recording,
        source: &str,
        which: Which<'_>,
        (from_ns, to_ns): (i64, i64),
        amount: f64,
    ) {
        if !amount.is_finite() || amount < 0.0 || to_ns <= from_ns {
            return;
        }
        let [name, instance, source] = [which.name, which.instance, source].map(|text| recording.strings.intern(text));
        let mut push = |time_ns: i64, value: f64| {
            recording.counters.push(Counter { time_ns, name, instance, tid: which.tid, value, source });
        };
        let (last_ns, total) = self.totals.entry((name, instance, which.tid)).or_insert((i64::MIN, 0.0));
        if *last_ns != from_ns {
            push(from_ns, *total);
        }
        *total += amount;
        *last_ns = to_ns;
        push(to_ns, *total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_begins_where_it_is_known_from() {
        let (mut rates, mut recording) = (Rates::default(), Recording::default());
        let which = Which { name: "vmstat_count", instance: "pgpgin", tid: 0 };
        for (span, amount) in [((0, 10), 5.0), ((10, 20), 0.0), ((50, 60), 2.0), ((60, 60), 9.0), ((60, 70), f64::NAN)]
        {
            rates.add(&mut recording, "vmstat", which, span, amount);
        }
        let rows: Vec<(i64, f64)> = recording.counters.rows().map(|row| (row.time_ns, row.value)).collect();
        assert_eq!(rows, [(0, 0.0), (10, 5.0), (20, 5.0), (50, 5.0), (60, 7.0)]);
    }
}
