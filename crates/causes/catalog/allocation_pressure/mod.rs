//! The application allocates more than before, so the collector has more to do.

use fathom_timeline::{Cell, Stop, Wait};

use crate::measure::collections::{allocation_rate, is_ordinary, stops, waiting_collector};
use crate::{Case, Cause, Evidence, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "allocation_pressure",
    readme: include_str!("README.md"),
    rank: 60,
    has_lab: true,
    actions: &[
        "find who allocates: the allocation flame graph of the slow time against the quiet one",
        "a larger young generation makes collections rarer, at the price of memory",
    ],
    decide,
};

/// Growth of the allocation rate that the collector feels. Less is within what load does by itself.
const GREW: f64 = 1.5;

/// Share of the time in collections that is too much whatever it was before.
const HEAVY: f64 = 0.10;

/// Fewer pauses than this are no rate.
const SEVERAL: usize = 5;

fn decide(case: &Case<'_>) -> Finding {
    let slow = allocation_rate(&case.slow);
    let quiet = case.quiet.as_ref().and_then(allocation_rate);
    let collecting = stops(case, is_ordinary);
    let Some(slow) = slow else {
        return match case.has_collections() {
            true => Finding::absent("no collection in the slow time, so nothing was short of memory"),
            false => Finding::unknown(
                "neither collections nor allocation were recorded",
                "-Xlog:gc*:file=gc.log:time,uptime,level,tags",
            ),
        };
    };
    let evidence = evidence(case, slow, quiet, collecting.len());
    if let Some(waiting) = waiting_collector(case, is_ordinary) {
        return waiting.with_all(evidence);
    }
    let finding = match quiet.filter(|rate| *rate > 0.0) {
        Some(quiet) if slow >= GREW * quiet => {
            Finding::new(Standing::Seen, says(case, slow, Some(quiet), collecting.len()))
        }
        Some(quiet) => return Finding::absent(format!("allocation rate {}", change(slow, quiet))).with_all(evidence),
        None if stopped_share(case) >= HEAVY && collecting.len() >= SEVERAL => {
            Finding::new(Standing::Indicated, says(case, slow, None, collecting.len()))
        }
        None => return Finding::absent("collections take little time").with_all(evidence),
    };
    finding.with_all(evidence).claiming(case, is_ours)
}

fn is_ours(cell: Cell) -> bool {
    match cell {
        Cell::Stopped(Stop::Collection(collection)) | Cell::Collector(collection) => is_ordinary(collection),
        cell => cell == Cell::Blocked(Wait::AllocationStall),
    }
}

fn stopped_share(case: &Case<'_>) -> f64 {
    let stopped: i64 = stops(case, is_ordinary).iter().map(|(_, length)| length).sum();
    let stalled = case.excess_threads(|cell| cell == Cell::Blocked(Wait::AllocationStall));
    stopped as f64 / case.excess().slow_ns.max(1.0) + stalled.max(0.0)
}

fn change(slow: f64, quiet: f64) -> String {
    let percent = (slow / quiet - 1.0) * 100.0;
    format!(
        "{}/s, {}{} % against the quiet time",
        say::bytes(slow),
        if percent >= 0.0 { "+" } else { "" },
        say::number(percent.round())
    )
}

fn says(case: &Case<'_>, slow: f64, quiet: Option<f64>, collections: usize) -> String {
    let rate = match quiet {
        Some(quiet) => format!("{}/s allocated instead of {}/s", say::bytes(slow), say::bytes(quiet)),
        None => format!("{}/s allocated", say::bytes(slow)),
    };
    let per_second = collections as f64 / (case.excess().slow_ns / 1e9).max(f64::MIN_POSITIVE);
    format!(
        "{rate}; {} pauses per second of ordinary collections, {} of the time",
        say::number(per_second),
        say::percent(stopped_share(case))
    )
}

fn evidence(case: &Case<'_>, slow: f64, quiet: Option<f64>, collections: usize) -> Vec<Evidence> {
    vec![
        case.evidence("allocation rate", (slow, quiet), "bytes/s", "spans"),
        case.evidence("pauses of ordinary collections", (collections as f64, None), "count", "spans"),
        case.cell_evidence("time lost to ordinary collections", "threads", is_ours),
    ]
}
