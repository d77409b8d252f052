//! How much a measure of requests can say. That requests were slow, any measure may say; that none was, only one that saw each
//! of them whole, for long enough, and that no other fact contradicts.

use super::Requests;
use crate::grid::Grid;
use crate::sources::Sources;
use crate::stops::StopSpan;

/// Why quick requests do not clear a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flaw {
    /// A few were measured at a socket, which may be health checks beside the work of the process.
    Few,
    /// How long each took is known to so many ns only, and what came between two looks not at all.
    Coarse(f64),
    /// The application stood still at a time and for longer than any request took: what clients waited for was not measured.
    Contradicted {
        /// For how long it stood still, in ns.
        stop_ns: f64,
        /// The longest request that was under way then, in ns.
        longest_ns: f64,
    },
}

/// What is wrong with requests; nothing where each was seen whole.
pub(crate) fn flaw(sources: &Sources<'_>, requests: &Requests, stops: &[StopSpan]) -> Option<Flaw> {
    let few = || (sources.traffic.requests_are_measured() && !requests.are_many()).then_some(Flaw::Few);
    let contradicted = || stops.iter().find_map(|stop| contradicted(sources.grid, requests, stop));
    few().or_else(|| coarse(sources)).or_else(contradicted)
}

fn coarse(sources: &Sources<'_>) -> Option<Flaw> {
    let uncertain_ns = sources.traffic.requests().map(|request| request.uncertain_ns).max()?;
    (uncertain_ns > 0).then_some(Flaw::Coarse(uncertain_ns as f64))
}

/// A stop delays every request that comes in it until its end: with so many expected in its first half, the chance that none came
/// is less than one in a hundred, and one that came is half as long as the stop.
const EXPECTED_REQUESTS: f64 = 5.0;

/// How far the clocks of two sources may be apart, in buckets.
const CLOCKS_APART: usize = 2;

fn contradicted(grid: Grid, requests: &Requests, stop: &StopSpan) -> Option<Flaw> {
    let half_ns = stop.duration_ns() as f64 / 2.0;
    let touched = grid.buckets_of(stop.from_ns, stop.to_ns);
    let near = touched.start.saturating_sub(CLOCKS_APART)..(touched.end + CLOCKS_APART).min(grid.len);
    // Where none came for seconds the file may have ended, and a client that waits sends none.
    let is_known = !touched.is_empty() && near.clone().all(|index| requests.count[index] > 0.0);
    let per_second = near.clone().map(|index| requests.count[index]).sum::<f64>() / near.len().max(1) as f64;
    let longest_ns = near.filter_map(|index| requests.longest_ns[index]).fold(0.0, f64::max);
    let is_impossible = is_known && per_second * half_ns / 1e9 >= EXPECTED_REQUESTS && longest_ns < half_ns;
    is_impossible.then_some(Flaw::Contradicted { stop_ns: 2.0 * half_ns, longest_ns })
}
