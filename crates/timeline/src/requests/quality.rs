//! How much a measure of requests can prove. Any measure may show that requests were slow. That none was slow needs a
//! measure that saw each request whole, for long enough, and that no other fact contradicts.

use fathom_evidence::kinds::{counter, recorded, subject};

use super::Requests;
use crate::grid::Grid;
use crate::sources::Sources;
use crate::stops::StopSpan;
use crate::traffic::users::Port;

/// Why quick requests do not clear a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flaw {
    /// A few were measured at a socket, which may be health checks beside the work of the process.
    Few,
    /// This part of them came several at once on one connection: how long each of these took is not known.
    Multiplexed(f64),
    /// Requests were found by looks at connections, and what came between two looks was not.
    Coarse {
        /// To so many ns it is known how long each took.
        uncertain_ns: f64,
        /// At most so many connections no look met.
        not_met: f64,
    },
    /// The application stood still at a time and for longer than any request took: what clients waited for was not measured.
    Contradicted {
        /// For how long it stood still, in ns.
        stop_ns: f64,
        /// The longest request that was under way then, in ns.
        longest_ns: f64,
    },
}

/// What is wrong with requests; nothing where each was seen whole.
pub(crate) fn flaw(sources: &Sources<'_>, requests: Option<&Requests>, stops: &[StopSpan]) -> Option<Flaw> {
    let few = |requests: &Requests| {
        sources.traffic.requests_are_measured() && (!requests.are_many() || are_of_datagrams_only(sources))
    };
    let contradicted = |requests| stops.iter().find_map(|stop| contradicted(sources.grid, requests, stop));
    multiplexed(sources)
        .or_else(|| requests.filter(|requests| few(requests)).map(|_| Flaw::Few))
        .or_else(|| coarse(sources))
        .or_else(|| requests.and_then(contradicted))
}

impl Flaw {
    /// Whether the requests that were measured are the work of the process: not a few, nor the smaller part of all.
    pub(crate) fn leaves_the_work(self) -> bool {
        const TOO_FEW_MEASURED: f64 = 0.5;
        !matches!(self, Flaw::Few) && !matches!(self, Flaw::Multiplexed(part) if part >= TOO_FEW_MEASURED)
    }
}

/// Whether all that is known of requests is of datagrams, and those of connections were not measured.
fn are_of_datagrams_only(sources: &Sources<'_>) -> bool {
    let recording = sources.recording;
    let is_of = |port: &Port| recording.text(port.name).starts_with("udp ");
    let are_followed = recording.fact(subject::RECORDING, recorded::REQUESTS_FOLLOWED).is_some();
    !are_followed && !sources.traffic.ports().is_empty() && sources.traffic.ports().iter().all(is_of)
}

/// This part of all requests moves their 99th percentile: that of the others tells nothing of all where so many are not among them.
pub const MOVES_P99: f64 = 0.01;

/// Over all ports, since that which carries several at once may be the one whose requests count.
fn multiplexed(sources: &Sources<'_>) -> Option<Flaw> {
    let ports = sources.traffic.ports();
    let sum = |of: fn(&Port) -> f64| 0.0 + ports.iter().map(of).sum::<f64>();
    let (several, all) = (sum(|port| port.overlapping), sum(|port| port.count + port.overlapping));
    let is_measured = sources.traffic.requests_are_measured() || sources.traffic.requests().next().is_none();
    (is_measured && several >= 1.0 && several >= MOVES_P99 * all).then(|| Flaw::Multiplexed(several / all))
}

fn coarse(sources: &Sources<'_>) -> Option<Flaw> {
    let of_ports = sources.traffic.ports().iter().map(|port| port.uncertain_ns as i64);
    let uncertain_ns = sources.traffic.requests().map(|request| request.uncertain_ns).chain(of_ports).max()?;
    let not_met = sources.counter(counter::CONNECTIONS_NOT_MET_COUNT, "").0.last().map_or(0.0, |(_, count)| *count);
    (uncertain_ns > 0).then_some(Flaw::Coarse { uncertain_ns: uncertain_ns as f64, not_met })
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

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use super::*;
    use crate::traffic::users::AT_SOCKETS;
    use crate::{Options, analyse};

    const MS: i64 = 1_000_000;

    /// A minute with 20 requests a second. From second 2 on `several_of_20` of them came several at once.
    fn requests(several_of_20: usize) -> Recording {
        let mut recording = Recording::default();
        for nth in 0..60 * 20 {
            let is_several = nth >= 40 && nth as usize % 20 < several_of_20;
            let detail = if is_several { r#"{"overlapping":true}"# } else { r#"{"port":9092}"# };
            recording.add_span(nth * 50 * MS, 2 * MS, 7, span::REQUEST, ":9092", detail, AT_SOCKETS);
        }
        recording
    }

    #[test]
    fn requests_that_come_several_at_once_clear_nothing() {
        for (several_of_20, is_clear, is_work) in
            [(0, true, true), (1, false, true), (19, false, false), (20, false, false)]
        {
            let recording = requests(several_of_20);
            let account = analyse(&recording, &Options::default()).unwrap().account;
            assert_eq!(account.exact_requests().is_some(), is_clear, "{several_of_20}");
            assert_eq!(account.requests_as_work().is_some(), is_work, "{several_of_20}");
            let is_multiplexed = matches!(account.requests_flaw, Some(Flaw::Multiplexed(_)));
            assert_eq!(is_multiplexed, several_of_20 > 0, "{:?}", account.requests_flaw);
        }
    }

    #[test]
    fn seconds_in_which_all_requests_overlap_are_not_idle() {
        let recording = requests(20);
        let analysis = analyse(&recording, &Options::default()).unwrap();
        assert!(analysis.account.idle.iter().all(|idle| !idle), "{:?}", analysis.account.idle);
        let port = &analysis.sources.traffic.ports()[0];
        assert_eq!((port.count, port.overlapping, port.overlapping_from_ns), (40.0, 1160.0, Some(2_000 * MS)));
    }
}
