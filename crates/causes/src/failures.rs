//! Connections that failed. A service that fails quickly looks quick, so latency does not clear it while many connections fail.

use fathom_evidence::kinds::counter;
use fathom_timeline::{MOVES_P99, Sources};

use crate::comparison::Comparison;
use crate::format;

/// What failed, beside what came off there, and what is said of it.
const KINDS: [(&str, &str, &str); 4] = [
    (counter::CONNECTIONS_RESET_COUNT, counter::REQUESTS_COUNT, "were reset"),
    (
        counter::CLOSED_UNANSWERED_COUNT,
        counter::REQUESTS_COUNT,
        "ended after something had been asked, without any answer",
    ),
    (counter::CONNECTS_FAILED_COUNT, counter::CALLS_COUNT, "could not be made: they were refused, or nothing answered"),
    (
        counter::CLOSED_UNANSWERED_COUNT,
        counter::CALLS_COUNT,
        "ended after something had been asked, without any answer",
    ),
];

/// How often something failed at an endpoint while it was recorded.
pub(crate) fn count(sources: &Sources<'_>, name: &str, endpoint: &str) -> f64 {
    sources.counter(name, endpoint).total_rise()
}

/// What is said of those that are a good part of all at their port or peer.
pub(crate) fn says(comparison: &Comparison<'_>) -> Vec<String> {
    KINDS.iter().flat_map(|kind| of_kind(comparison, *kind)).collect()
}

fn of_kind(comparison: &Comparison<'_>, (failed, came_off, says): (&str, &str, &str)) -> Vec<String> {
    let sources = comparison.sources();
    let endpoints = sources.counters(failed).into_keys().map(|(endpoint, _)| comparison.recording().text(endpoint));
    // A port that is listened on has no host before it.
    let is_of_kind = |endpoint: &&str| endpoint.starts_with(':') == (came_off == counter::REQUESTS_COUNT);
    let of = |endpoint: &str| {
        let (failures, others) = (count(sources, failed, endpoint), count(sources, came_off, endpoint));
        let matters = failures >= 1.0 && failures >= MOVES_P99 * (failures + others);
        let whose = if endpoint.starts_with(':') { "at" } else { "to" };
        matters.then(|| format!("{} {whose} {endpoint} {says}", format::count(failures as usize, "connection")))
    };
    endpoints.filter(is_of_kind).filter_map(of).collect()
}
