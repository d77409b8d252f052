//! Requests of the service in order of their beginning, with how many each row stands for.

use fathom_evidence::detail::{Request, from_text};
use fathom_evidence::kinds::span;
use fathom_timeline::Sources;

use super::spans::duration;
use crate::axis::Axis;

/// All requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Ascending, in ns since the origin.
    begin: Vec<i64>,
    length_ns: Vec<i64>,
    weight: Vec<f32>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) length_ns: i64,
    /// How many requests it stands for.
    pub(crate) weight: f64,
}

impl Requests {
    pub(crate) fn new(view: &Sources<'_>, axis: &Axis) -> Requests {
        let recording = view.recording;
        let mut requests = Requests::default();
        for row in view.rows(span::REQUEST) {
            let detail = recording.text(recording.spans.detail[*row as usize]);
            let stands_for = if detail.is_empty() { None } else { from_text::<Request>(detail).stands_for };
            requests.begin.push(axis.at(recording.spans.time_ns[*row as usize]));
            requests.length_ns.push(duration(recording, *row));
            requests.weight.push(stands_for.unwrap_or(1).max(1) as f32);
        }
        requests
    }

    pub(crate) fn len(&self) -> usize {
        self.begin.len()
    }

    /// Those that began in some time.
    pub(crate) fn within(&self, from: i64, to: i64) -> impl Iterator<Item = Taken> + '_ {
        let first = self.begin.partition_point(|begin| *begin < from);
        let end = self.begin.partition_point(|begin| *begin < to).max(first);
        (first..end).map(|row| Taken { length_ns: self.length_ns[row], weight: f64::from(self.weight[row]) })
    }
}
