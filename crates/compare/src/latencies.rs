//! How long the requests of one run took.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use fathom_timeline::{Sources, quantile};
use serde::Serialize;

/// The source of requests that were measured at sockets; any other is a file that was given.
const AT_SOCKETS: &str = "requests";

/// Quantiles of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latencies {
    /// Where they were measured: `sockets`, or the format of a file.
    pub source: String,
    /// How many requests.
    pub count: f64,
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
    /// Those of a recording, if it has any.
    pub(crate) fn of(sources: &Sources<'_>) -> Option<Latencies> {
        let requests = sources.traffic.requests();
        let mut lengths: Vec<(f64, f64)> =
            requests.map(|request| (request.duration_ns().max(0) as f64, request.weight)).collect();
        lengths.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let count: f64 = lengths.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = lengths.iter().map(|(length, weight)| length * weight).sum();
        let at = |part| quantile(lengths.iter().copied(), part);
        Some(Latencies {
            source: source(sources.recording),
            count,
            p50_ns: at(0.5)?,
            p90_ns: at(0.9)?,
            p99_ns: at(0.99)?,
            mean_ns: sum / count,
        })
    }
}

/// A file says better than sockets how long users waited, and the timeline takes it first.
fn source(recording: &Recording) -> String {
    let kind = recording.strings.find(span::REQUEST);
    let rows = recording.spans.rows().filter(|row| Some(row.kind) == kind);
    let mut of_files = rows.map(|row| recording.text(row.source)).filter(|source| *source != AT_SOCKETS);
    of_files.next().unwrap_or("sockets").to_owned()
}
