//! Rows whose times are far from all others: a damaged row, or the clock of another machine.
//!
//! One row 400 days away would make everything else an instant of the recording, in which nothing is slow.

use crate::kinds::loss;
use crate::recording::Recording;
use crate::table::Table;

/// With fewer rows no row can be called foreign.
const ROWS_MIN: usize = 50;
/// At most one of so many rows is taken for foreign on either side.
const ONE_OF: usize = 1_000;
/// What is nearer than this is not foreign, however short the recording is, in ns: a day.
const NEAR_NS: i64 = 86_400_000_000_000;
/// Nor is what is nearer than so many times the length of the others.
const NEAR_LENGTHS: i64 = 10;

impl Recording {
    /// Sets rows aside that are far from all others in time, and records the loss.
    pub fn set_aside_foreign_times(&mut self) {
        let Some((first_ns, last_ns)) = self.plausible_ns() else { return };
        let is_near = |time_ns: &i64| (first_ns..=last_ns).contains(time_ns);
        let before = self.samples.len() + self.spans.len() + self.counters.len();
        let keep: Vec<bool> = self.samples.time_ns.iter().map(is_near).collect();
        retain(&mut self.samples, &keep);
        let keep: Vec<bool> = self.counters.time_ns.iter().map(is_near).collect();
        retain(&mut self.counters, &keep);
        let keep: Vec<bool> =
            self.spans.rows().map(|span| is_near(&span.time_ns) && span.end_ns() <= last_ns).collect();
        retain(&mut self.spans, &keep);
        let foreign = before - self.samples.len() - self.spans.len() - self.counters.len();
        if foreign > 0 {
            let says = format!("{foreign} rows are days away from all others in time: they were set aside");
            self.add_loss("recording", loss::FOREIGN_TIMES, foreign as i64, &says);
        }
    }

    /// The times in which rows belong to the others; `None` when all do.
    fn plausible_ns(&self) -> Option<(i64, i64)> {
        let times = || self.samples.time_ns.iter().chain(&self.counters.time_ns).chain(&self.spans.time_ns).copied();
        let rows = times().count();
        let (first_ns, last_ns) = self.time_range_ns().filter(|_| rows >= ROWS_MIN)?;
        if last_ns.saturating_sub(first_ns) <= NEAR_NS {
            return None;
        }
        let mut sorted: Vec<i64> = times().collect();
        let beside = (rows / ONE_OF).max(1);
        let low = *sorted.select_nth_unstable(beside).1;
        let high = *sorted.select_nth_unstable(rows - 1 - beside).1;
        let near_ns = high.saturating_sub(low).saturating_mul(NEAR_LENGTHS).max(NEAR_NS);
        let plausible = (low.saturating_sub(near_ns), high.saturating_add(near_ns));
        (first_ns < plausible.0 || last_ns > plausible.1).then_some(plausible)
    }
}

fn retain(table: &mut impl Table, keep: &[bool]) {
    if keep.contains(&false) {
        table.retain(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = NEAR_NS;

    fn minute_with(rows: i64, foreign_ns: &[i64]) -> Recording {
        let mut recording = Recording::default();
        for row in 0..rows {
            recording.add_counter(1_000 * DAY_NS + row * 60_000_000_000 / rows, "cpu", "", 0.5, "test");
        }
        for time_ns in foreign_ns {
            recording.add_span(*time_ns, 5, 0, "gc_pause", "", "", "test");
        }
        recording
    }

    #[test]
    fn single_rows_days_away_are_set_aside_and_told() {
        let all = [600 * DAY_NS, 1_400 * DAY_NS];
        for (rows, foreign_ns, aside) in [
            (1_000, &all[..0], 0),
            (1_000, &all[..1], 1),
            (1_000, &all[1..], 1),
            (10_000, &all[..], 2),
            (1_000, &[0, i64::MAX], 2),
            // An hour before is the same recording, and of few rows it is unknown which are foreign.
            (1_000, &[1_000 * DAY_NS - DAY_NS / 24], 0),
            (20, &all[..], 0),
        ] {
            let mut recording = minute_with(rows, foreign_ns);
            recording.set_aside_foreign_times();
            assert_eq!(recording.spans.len(), foreign_ns.len() - aside, "{rows} rows and {foreign_ns:?}");
            assert_eq!(recording.counters.len() as i64, rows, "{rows} rows and {foreign_ns:?}");
            assert_eq!(recording.losses.count.iter().sum::<i64>(), aside as i64, "{rows} rows and {foreign_ns:?}");
        }
    }

    #[test]
    fn a_row_that_lasts_for_days_is_foreign_and_two_halves_are_not() {
        let mut recording = minute_with(1_000, &[]);
        recording.add_span(1_000 * DAY_NS, 400 * DAY_NS, 0, "gc_pause", "", "", "test");
        recording.set_aside_foreign_times();
        assert!(recording.spans.is_empty());
        let mut halves = minute_with(1_000, &[500 * DAY_NS; 500]);
        halves.set_aside_foreign_times();
        assert_eq!((halves.spans.len(), halves.losses.len()), (500, 0));
    }
}
