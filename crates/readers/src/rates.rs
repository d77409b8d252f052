//! Rates of a table, second by second, as counters that only grow: what the account reads.
//!
//! A tool prints how often something happened per second since its last row. These rates are summed up again from the first
//! row on. Only the rises of such a counter have a meaning, so it begins at zero whatever the kernel had counted before.

mod series;

use fathom_evidence::kinds::loss;
use fathom_evidence::{Recording, StrId};

pub(crate) use crate::rates::series::Id;
use crate::rates::series::Series;

/// Sums of rates.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    series: Series,
    /// What each came to, and when that was.
    totals: Vec<Option<(i64, f64)>>,
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
    /// A number of a table, for those who have many of it.
    pub(crate) fn id(&mut self, recording: &mut Recording, source: &str, which: Which<'_>) -> Id {
        let [name, instance, source] = [which.name, which.instance, source].map(|text| recording.strings.intern(text));
        self.series.id((name, instance, which.tid), source)
    }

    /// The same, of texts that are known.
    pub(crate) fn id_of(&mut self, (name, instance, tid): (StrId, StrId, i64), source: StrId) -> Id {
        self.series.id((name, instance, tid), source)
    }

    /// Adds what happened from one time to another.
    pub(crate) fn add(
        &mut self,
        recording: &mut Recording,
        source: &str,
        which: Which<'_>,
        interval: (i64, i64),
        amount: f64,
    ) {
        if is_rise(interval, amount) {
            let id = self.id(recording, source, which);
            self.add_to(recording, id, interval, amount);
        }
    }

    /// The same, by number.
    pub(crate) fn add_to(&mut self, recording: &mut Recording, id: Id, (from_ns, to_ns): (i64, i64), amount: f64) {
        if !is_rise((from_ns, to_ns), amount) {
            return;
        }
        if self.totals.len() <= id {
            self.totals.resize(id + 1, None);
        }
        let (last_ns, before) = self.totals[id].unwrap_or((i64::MIN, 0.0));
        if last_ns != from_ns {
            self.series.row(&mut recording.counters, id, from_ns, before);
        }
        let total = before + amount;
        self.totals[id] = Some((to_ns, total));
        self.series.row(&mut recording.counters, id, to_ns, total);
    }

    /// Takes what something is at an instant, which is no rate but stands in the same table.
    pub(crate) fn now(&mut self, recording: &mut Recording, id: Id, time_ns: i64, value: f64) {
        self.series.row(&mut recording.counters, id, time_ns, value);
    }

    /// Writes what was held back, and says so if rows were left out.
    pub(crate) fn finish(self, recording: &mut Recording, source: &str) {
        if let Some((count, step_ns)) = self.series.finish(&mut recording.counters) {
            let says = format!(
                "{source}: the tables have more rows than are kept in memory: of each number one in {} s is kept; cut the \
                 file to the time in question to have all",
                step_ns / series::SECOND_NS
            );
            recording.add_loss(source, loss::EVENTS_LOST, count, &says);
        }
    }
}

fn is_rise((from_ns, to_ns): (i64, i64), amount: f64) -> bool {
    amount.is_finite() && amount >= 0.0 && to_ns > from_ns
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
        rates.finish(&mut recording, "vmstat");
        let rows: Vec<(i64, f64)> = recording.counters.rows().map(|row| (row.time_ns, row.value)).collect();
        assert_eq!(rows, [(0, 0.0), (10, 5.0), (20, 5.0), (50, 5.0), (60, 7.0)]);
        assert!(recording.losses.rows().next().is_none());
    }
}
