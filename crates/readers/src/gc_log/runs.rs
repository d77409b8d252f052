//! The time that a log's own lines cover, and where in it the JVM was started again.
//!
//! A line is written at the end of what it describes, which may have begun long before: a phase of 15 s is logged at
//! its end, and a pause of several lines is complete with its last line. So runs are separated by the stamps of lines
//! in the order of the log, never by the start times of events.

use crate::gc_log::event::Stamp;

/// Uptime that falls by more than this means another JVM; less is lines of two threads changing places.
const RESTART_NS: i64 = 1_000_000_000;

/// What the stamps of the lines so far tell.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Runs {
    /// Stamp of the first line that has one.
    pub(crate) first: Stamp,
    /// Stamp of the last line that has one.
    pub(crate) last: Stamp,
    /// How many times the uptime fell back.
    pub(crate) restarts: u64,
    highest_uptime_ns: i64,
    earlier_runs_ns: i64,
}

impl Runs {
    /// Takes the stamp of the next line, and notes in it which run of the JVM it is of.
    pub(crate) fn line(&mut self, at: &mut Stamp) {
        if let Some(uptime_ns) = at.uptime_ns {
            if uptime_ns < self.highest_uptime_ns.saturating_sub(RESTART_NS) {
                self.restarts += 1;
                self.earlier_runs_ns = self.earlier_runs_ns.saturating_add(self.highest_uptime_ns);
                self.highest_uptime_ns = uptime_ns;
            }
            self.highest_uptime_ns = self.highest_uptime_ns.max(uptime_ns);
        }
        at.earlier_runs_ns = self.earlier_runs_ns;
        if at.is_none() {
            return;
        }
        if self.first.is_none() {
            self.first = *at;
        }
        self.last = *at;
    }

    /// Marks a stamp that is not of a line of its own, such as a row of a table that is printed later.
    pub(crate) fn within(&self, at: &mut Stamp) {
        at.earlier_runs_ns = self.earlier_runs_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_where_the_lines_fall_back() {
        let mut runs = Runs::default();
        let mut see = |seconds: f64| {
            let mut at = Stamp { uptime_ns: Some((seconds * 1e9) as i64), ..Stamp::default() };
            runs.line(&mut at);
            at.earlier_runs_ns / 1_000_000
        };
        assert_eq!([0.5, 4.0, 3.1, 9.0, 0.1, 2.0, 0.5].map(&mut see), [0, 0, 0, 0, 9_000, 9_000, 11_000]);
        see(3.0);
        assert_eq!(
            (runs.restarts, runs.first.uptime_ns, runs.last.uptime_ns),
            (2, Some(500_000_000), Some(3_000_000_000))
        );
    }
}
