//! How long the requests of one run took.

use std::cmp::Reverse;

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use fathom_timeline::{AT_SOCKETS, Sources, quantile, rank_of_requests};
use serde::Serialize;

/// Quantiles of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latencies {
    /// Where they were measured: `sockets`, or the format of a file.
    pub source: String,
    /// How many requests.
    pub count: f64,
    /// From the beginning of the first to the end of the last, in s: a recording may begin long before.
    pub seconds: f64,
    /// Median, in ns.
    pub p50_ns: f64,
    /// 90th percentile, in ns.
    pub p90_ns: f64,
    /// 99th percentile, in ns.
    pub p99_ns: f64,
    /// Mean, in ns: how long users waited in all, per request.
    pub mean_ns: f64,
}

impl Latencies {
    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.count / self.seconds
    }

    /// Those of a recording, if it has any.
    pub(crate) fn of(sources: &Sources<'_>) -> Option<Latencies> {
        let ends = sources.traffic.requests().map(|request| (request.from_ns, request.to_ns));
        let (from_ns, to_ns) = ends.reduce(|(from, to), (first, last)| (from.min(first), to.max(last)))?;
        let mut lengths: Vec<(f64, f64)> =
            sources.traffic.requests().map(|request| (request.duration_ns().max(0) as f64, request.weight)).collect();
        lengths.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let count: f64 = lengths.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = lengths.iter().map(|(length, weight)| length * weight).sum();
        let at = |part| quantile(lengths.iter().copied(), part);
        Some(Latencies {
            source: source(sources.recording),
            count,
            seconds: to_ns.saturating_sub(from_ns).max(1) as f64 / 1e9,
            p50_ns: at(0.5)?,
            p90_ns: at(0.9)?,
            p99_ns: at(0.99)?,
            mean_ns: sum / count,
        })
    }
}

/// Of whom the timeline takes requests.
fn source(recording: &Recording) -> String {
    let kind = recording.strings.find(span::REQUEST);
    let sources = recording.spans.rows().filter(|row| Some(row.kind) == kind).map(|row| recording.text(row.source));
    match sources.min_by_key(|source| Reverse(rank_of_requests(source))) {
        Some(AT_SOCKETS) | None => "sockets".to_owned(),
        Some(source) => source.to_owned(),
    }
}
