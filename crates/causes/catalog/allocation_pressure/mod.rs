//! The application allocates more than before, so the collector has more to do.

use fathom_evidence::kinds::span;
use fathom_timeline::{Cell, Stop, Wait};

use crate::case::Side;
use crate::measure::code_cache::CodeCache;
use crate::measure::collections::{allocation_evidence, allocation_rate, is_ordinary, stalls_evidence, stops};
use crate::{Case, Cause, Evidence, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "allocation_pressure",
    readme: include_str!("README.md"),
    rank: 60,
    has_lab: true,
    collectors: &["jfr"],
    actions: &[
        "find who allocates: the allocation flame graph of the slow time against the quiet one",
        "a larger young generation makes collections rarer, at the price of memory",
    ],
    decide,
};

/// Growth of the allocation rate, and of the number of collections, that the collector feels. Less
/// is within what load does by itself.
const GREW: f64 = 1.5;

/// Share of the time in collections that is too much whatever it was before.
const HEAVY: f64 = 0.10;

/// Threads lost to ordinary collections below which a higher rate costs nothing that anybody feels.
const CHEAP: f64 = 0.03;

/// Collections to free code, per second, that are no upkeep any more.
const FREES_PER_SECOND: f64 = 0.5;

/// Fewer pauses, or threads that waited for memory, than this are no rate.
const SEVERAL: usize = 3;

fn decide(case: &Case<'_>) -> Finding {
    let slow = allocation_rate(&case.slow);
    let stalls = case.slow.spans(span::ALLOCATION_STALL).count();
    let Some(slow) = slow else {
        return match case.has_collections() {
            true => Finding::absent("no collection in the slow time, so nothing was short of memory"),
            false => Finding::needs_gc_log(),
        };
    };
    let quiet = case.quiet.as_ref().and_then(allocation_rate).filter(|rate| *rate > 0.0);
    let pauses = case.both(|side| pauses(side) as f64 / side.seconds());
    let count = stops(case, is_ordinary).len();
    let evidence = evidence(case, (slow, quiet), pauses, stalls);
    let standing = match (quiet, pauses.1) {
        _ if stalls >= SEVERAL => Standing::Seen,
        (Some(quiet), Some(before)) if slow >= GREW * quiet && count >= SEVERAL && pauses.0 >= GREW * before => {
            if is_cheap(case) || frees_code(case) {
                Standing::Faint
            } else {
                Standing::Seen
            }
        }
        (Some(quiet), _) => return Finding::absent(unchanged(slow, quiet, pauses)).with_all(evidence),
        (None, _) if stopped_share(case) >= HEAVY && count >= SEVERAL => Standing::Indicated,
        (None, _) => return Finding::absent("collections take little time").with_all(evidence),
    };
    Finding::new(standing, says(case, (slow, quiet), pauses.0, stalls)).with_all(evidence).claiming(case, is_ours)
}

fn is_cheap(case: &Case<'_>) -> bool {
    case.excess_threads(is_ours) < CHEAP
}

/// Whether code is thrown away all the time. What runs interpreted meanwhile allocates what compiled
/// code does not (escape analysis), so that the rate rises without the application's doing.
fn frees_code(case: &Case<'_>) -> bool {
    CodeCache::of(case).collections_per_second.0 >= FREES_PER_SECOND
}

/// Pauses of ordinary collections.
fn pauses(side: &Side<'_>) -> usize {
    side.pauses().filter(|(_, detail)| detail.scope.as_deref() != Some("full")).count()
}

fn is_ours(cell: Cell) -> bool {
    match cell {
        Cell::Stopped(Stop::Collection(collection)) | Cell::Collector(collection) => is_ordinary(collection),
        cell => cell == Cell::Blocked(Wait::AllocationStall),
    }
}

fn stopped_share(case: &Case<'_>) -> f64 {
    let stopped: f64 = stops(case, is_ordinary).iter().map(|(_, length)| *length as f64).sum();
    let stalled = case.excess_threads(|cell| cell == Cell::Blocked(Wait::AllocationStall));
    stopped / case.excess().slow_ns.max(1.0) + stalled.max(0.0)
}

fn unchanged(slow: f64, quiet: f64, pauses: (f64, Option<f64>)) -> String {
    let percent = (slow / quiet - 1.0) * 100.0;
    format!(
        "allocation rate {}/s, {}{} % against the quiet time; {} pauses per second, {} before",
        say::bytes(slow),
        if percent >= 0.0 { "+" } else { "" },
        say::number(percent.round()),
        say::number(pauses.0),
        say::number(pauses.1.unwrap_or(0.0))
    )
}

fn says(case: &Case<'_>, (slow, quiet): (f64, Option<f64>), pauses: f64, stalls: usize) -> String {
    let usual = quiet.map_or(String::new(), |quiet| format!(" instead of {}/s", say::bytes(quiet)));
    let waited = match stalls {
        0 => String::new(),
        _ => format!("; the collector could not keep up: {}", say::count(stalls, "allocation stall")),
    };
    format!(
        "{}/s allocated{usual}; {} pauses per second of ordinary collections, {} of the time{waited}",
        say::bytes(slow),
        say::number(pauses),
        say::percent(stopped_share(case))
    )
}

fn evidence(case: &Case<'_>, rate: (f64, Option<f64>), pauses: (f64, Option<f64>), stalls: usize) -> Vec<Evidence> {
    vec![
        allocation_evidence(case, rate),
        case.evidence("pauses of ordinary collections", pauses, "1/s", "spans").of(&[span::GC_PAUSE]),
        stalls_evidence(case, stalls),
        case.cell_evidence("time lost to ordinary collections", "threads", is_ours),
    ]
}
