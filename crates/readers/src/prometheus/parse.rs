//! What is common to answers and tables: series, each with its points in order of time. Knows no evidence.

use super::labels::Labels;
use crate::time::TIMES_NS;

/// Points that are kept of a series: Prometheus answers with 11,000 at most.
pub(super) const POINTS_MAX: usize = 1 << 17;

/// A time, and what the series was then.
pub(super) type Point = (i64, f64);

/// Takes a series.
pub(super) type Take<'a> = dyn FnMut(&Labels, &[Point]) + 'a;

/// What a file had besides its series.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) series: usize,
    /// Why it ended before its end.
    pub(super) cut: Option<String>,
    /// Points beyond those that are kept, or that are no numbers.
    pub(super) left_out: i64,
    /// Whether times have no zone.
    pub(super) is_local: bool,
    /// Why nothing of it can be used, if that is known.
    pub(super) refused: Option<&'static str>,
}

/// Points of a series while it is read.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) all: Vec<Point>,
    pub(super) left_out: i64,
}

impl Points {
    pub(super) fn add(&mut self, time_ns: i64, value: Option<f64>) {
        match value.filter(|value| value.is_finite() && TIMES_NS.contains(&time_ns)) {
            Some(value) if self.all.len() < POINTS_MAX => self.all.push((time_ns, value)),
            _ => self.left_out += 1,
        }
    }

    /// Gives them in order of time.
    pub(super) fn give(&mut self, labels: &Labels, read: &mut Read, take: &mut Take<'_>) {
        self.all.sort_by_key(|(time_ns, _)| *time_ns);
        self.all.dedup_by_key(|(time_ns, _)| *time_ns);
        read.series += 1;
        read.left_out = read.left_out.saturating_add(std::mem::take(&mut self.left_out));
        take(labels, &self.all);
        self.all.clear();
    }
}
