//! Rows of the safepoint table (`PrintSafepointStatistics`) in a log whose lines have the date alone.
//!
//! The JVM prints the table hundreds of safepoints later, and each row with its uptime. If no line relates the uptime to a
//! date, the collections do: the last row of a collection before the table ends belongs to the last pause before it.

use crate::gc_log::event::{Safepoint, Stamp};

/// The JVM prints 300 rows at a time, or as many as `PrintSafepointStatisticsCount` says.
const ROWS_MAX: usize = 10_000;

/// Rows that wait for the end of their table.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<(Safepoint<'static>, String)>,
    /// Beginning of the log's first pause and of its last one so far.
    pauses_ns: Option<(i64, i64)>,
    /// When the JVM started, by the tables before.
    started_at_ns: Option<i64>,
    /// How many rows were placed.
    pub(super) placed: i64,
}

impl Table {
    /// Notes that a pause began.
    pub(super) fn pause(&mut self, start_ns: i64) {
        let first_ns = self.pauses_ns.map_or(start_ns, |(first, _)| first);
        self.pauses_ns = Some((first_ns, start_ns));
    }

    pub(super) fn add(&mut self, row: &Safepoint<'_>, operation: &str) {
        self.rows.push((Safepoint { operation: b"", ..*row }, operation.to_owned()));
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX
    }

    /// The rows so far, with dates where pauses tell them.
    pub(super) fn take(&mut self) -> Vec<(Safepoint<'static>, String)> {
        let mut rows = std::mem::take(&mut self.rows);
        self.started_at_ns = self.by_collection(&rows).or(self.started_at_ns).or_else(|| self.by_last(&rows));
        let Some(started_at_ns) = self.started_at_ns else { return rows };
        for (row, _) in &mut rows {
            let wall_ns = row.start.uptime_ns.map(|uptime| started_at_ns.saturating_add(uptime));
            row.start = Stamp { wall_ns, uptime_ns: None, ..row.start };
        }
        self.placed += rows.len() as i64;
        rows
    }

    fn by_collection(&self, rows: &[(Safepoint<'_>, String)]) -> Option<i64> {
        let (row, _) = rows.iter().rfind(|(_, operation)| is_collection(operation))?;
        // The pause begins when all threads have stopped.
        let stopped_ns = row.start.uptime_ns?.saturating_add(row.time_to_safepoint_ns.unwrap_or(0));
        Some(self.pauses_ns?.1.saturating_sub(stopped_ns))
    }

    /// Without a collection in the table: its last row was before the table, and the JVM started before its first pause.
    fn by_last(&self, rows: &[(Safepoint<'_>, String)]) -> Option<i64> {
        let (first_ns, last_ns) = self.pauses_ns?;
        Some(last_ns.saturating_sub(rows.last()?.0.start.uptime_ns?).min(first_ns))
    }
}

/// Whether an operation of JDK 7 or 8 is a collection that its log has a pause of.
fn is_collection(operation: &str) -> bool {
    ["GC", "Collect", "CMS_", "Shenandoah"].iter().any(|word| operation.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Beginnings, in ms of the date, of rows `(uptime and time to safepoint in ms, operation)` after pauses at `pauses_ms`.
    fn placed(table: &mut Table, pauses_ms: &[i64], rows: &[(i64, i64, &str)]) -> Vec<Option<i64>> {
        pauses_ms.iter().for_each(|at| table.pause(at * MS));
        for (uptime_ms, sync_ms, operation) in rows {
            let start = Stamp { uptime_ns: Some(uptime_ms * MS), ..Stamp::default() };
            let row = Safepoint { start, time_to_safepoint_ns: Some(sync_ms * MS), ..Safepoint::default() };
            table.add(&row, operation);
        }
        table.take().iter().map(|(row, _)| row.start.wall_ns.map(|ns| ns / MS)).collect()
    }

    #[test]
    fn rows_are_placed_by_collections() {
        let mut table = Table::default();
        let rows = [(1_000, 0, "RevokeBias"), (2_000, 5, "ParallelGCFailedAllocation"), (2_500, 0, "no vm operation")];
        let dates = [Some(101_000), Some(102_000), Some(102_500)];
        assert_eq!(placed(&mut table, &[101_500, 102_005], &rows), dates);
        // A table without a collection is of the same JVM.
        assert_eq!(placed(&mut table, &[], &[(4_000, 0, "RevokeBias")]), [Some(104_000)]);
        // The JVM was started again.
        assert_eq!(placed(&mut table, &[900_010], &[(10, 0, "CGC_Operation")]), [Some(900_010)]);
        assert_eq!(table.placed, 5);
    }

    #[test]
    fn rows_without_a_collection() {
        let rows = [(1_000, 0, "RevokeBias"), (9_000, 0, "RevokeBias")];
        assert_eq!(placed(&mut Table::default(), &[103_000, 110_000], &rows), [Some(102_000), Some(110_000)]);
        assert_eq!(placed(&mut Table::default(), &[101_000, 150_000], &rows), [Some(102_000), Some(110_000)]);
        assert_eq!(placed(&mut Table::default(), &[], &rows), [None, None]);
        assert_eq!(placed(&mut Table::default(), &[], &[]), []);
    }
}
