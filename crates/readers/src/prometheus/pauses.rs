//! GC pauses of which Prometheus has the count and the total time.

use std::collections::BTreeMap;

use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, to_text};
use fathom_evidence::kinds::counter;

use super::metrics::Pauses;
use super::sums::Sum;
use crate::rates::{Rates, Which};

/// What is known of all pauses of each kind.
#[derive(Debug, Default)]
pub(super) struct Collected(BTreeMap<Pauses, [Sum; 2]>);

impl Collected {
    /// The time in s that pauses of a kind took, or how many there were.
    pub(super) fn add(&mut self, kind: Pauses, is_count: bool, interval: (i64, i64), amount: f64) {
        self.0.entry(kind).or_default()[usize::from(is_count)].add(interval, amount);
    }

    /// Rises that there was no room for.
    pub(super) fn left_out(&self) -> i64 {
        self.0.values().flatten().map(|sum| sum.left_out).sum()
    }

    /// Writes them: what was counted, and pauses as long as their mean.
    pub(super) fn finish(self, recording: &mut Recording, rates: &mut Rates, source: &str) {
        for (kind, [times, counts]) in &self.0 {
            let instance = match &kind.cause {
                Some(cause) => format!("{} ({cause})", kind.scope),
                None => kind.scope.to_owned(),
            };
            let detail = Gc { scope: Some(kind.scope.to_owned()), cause: kind.cause.clone(), ..Gc::default() };
            let detail = to_text(&detail);
            for (interval, seconds) in times.rises() {
                let (count, ns) = (counts.at(interval.1), seconds * 1e9);
                for (name, amount) in [(counter::GC_TIME_NS, ns), (counter::GC_RUNS_COUNT, count)] {
                    rates.add(recording, source, Which { name, instance: &instance, tid: 0 }, interval, amount);
                }
                crate::pauses::add(recording, interval, (count, ns as i64), &detail, source);
            }
        }
    }
}
