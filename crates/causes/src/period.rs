//! One period of a comparison: some time of a recording, and its content.

use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::{Sample, Span};
use fathom_timeline::{Intervals, Series, Sources};
use serde::de::DeserializeOwned;

pub(crate) const SECOND: f64 = 1e9;

/// One period of the comparison: some time of some recording.
#[derive(Debug)]
pub struct Period<'a> {
    /// The recording.
    pub sources: &'a Sources<'a>,
    /// The time of it.
    pub time: Intervals,
    /// The other period's time, if it is of the same recording: what lasts into it is not of this one.
    pub except: Intervals,
}

impl<'a> Period<'a> {
    /// Some time of a recording, whatever else there is.
    pub fn new(sources: &'a Sources<'a>, time: Intervals) -> Period<'a> {
        Period { sources, time, except: Intervals::default() }
    }

    /// What of it lies between two instants.
    pub(crate) fn clip(&self, (from_ns, to_ns): (i64, i64)) -> Period<'a> {
        let time = self.time.clip(from_ns, to_ns);
        Period { sources: self.sources, time, except: self.except.clone() }
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.time.total_ns() as f64 / SECOND).max(f64::MIN_POSITIVE)
    }

    /// Whether what lasts from one instant to another is of this time, at least in part.
    pub fn has(&self, from_ns: i64, to_ns: i64) -> bool {
        self.time.touches(from_ns, to_ns) && !self.except.touches(from_ns, to_ns)
    }

    /// Spans of a kind that are in this time, at least in part.
    pub fn spans(&self, kind: &str) -> impl Iterator<Item = Span> + '_ {
        self.sources.spans_in(kind, &self.time).filter(|span| !self.except.touches(span.time_ns, span.end_ns()))
    }

    /// Samples of an event in this time.
    pub fn samples(&self, event: &str) -> impl Iterator<Item = Sample> + '_ {
        self.sources.samples(event).filter(|sample| self.time.contains(sample.counts_at_ns()))
    }

    /// By how much a growing counter rose in this time.
    pub fn rise(&self, series: &Series) -> f64 {
        // `sum()` of an empty iterator of floats is -0.0.
        0.0 + self.time.iter().map(|(from, to)| series.rise_within(from, to)).sum::<f64>()
    }

    /// Largest value of a counter in this time.
    pub fn max(&self, series: &Series) -> Option<f64> {
        self.time.iter().filter_map(|(from, to)| series.max_within(from, to)).max_by(f64::total_cmp)
    }

    /// The detail of a span.
    pub fn detail<T: DeserializeOwned + Default>(&self, span: &Span) -> T {
        from_text(self.sources.recording.text(span.detail))
    }

    /// Those of young or concurrent collections, whatever their cause.
    pub fn young_pauses(&self) -> impl Iterator<Item = (Span, Gc)> + '_ {
        self.pauses().filter(|(_, detail)| detail.scope.as_deref() != Some("full"))
    }

    /// The collections' pauses with their detail.
    pub fn pauses(&self) -> impl Iterator<Item = (Span, Gc)> + '_ {
        self.spans(span::GC_PAUSE).map(|pause| (pause, self.detail(&pause)))
    }
}
