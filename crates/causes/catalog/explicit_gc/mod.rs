//! Somebody asks for collections: `System.gc()`, a diagnostic command, a heap dump.

use fathom_evidence::kinds::span;
use fathom_timeline::{Cell, Collection, Origin};

use crate::measure::collections::{collection_of, stops};
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "explicit_gc",
    readme: include_str!("README.md"),
    rank: 15,
    has_lab: true,
    collectors: &["jfr"],
    actions: &[
        "remove the caller, or -XX:+ExplicitGCInvokesConcurrent (G1), or -XX:+DisableExplicitGC (not where direct buffers need it)",
    ],
    decide,
};

fn is_explicit(collection: Collection) -> bool {
    collection.origin == Origin::Explicit
}

fn decide(case: &Case<'_>) -> Finding {
    let stops = stops(case, is_explicit);
    let busy = case.excess_threads(is_ours);
    if stops.is_empty() && busy <= 0.0 {
        return match case.has_collections() {
            true => Finding::absent("no collection was asked for"),
            false => Finding::needs_gc_log(),
        };
    }
    let total: f64 = stops.iter().map(|(_, length)| *length as f64).sum();
    let longest = stops.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let says = format!(
        "{} of collections that were asked for, {} in all, the longest {}",
        say::count(stops.len(), "pause"),
        say::time(total),
        say::time(longest as f64)
    );
    Finding::new(Standing::Seen, says)
        .with(
            case.evidence("pauses of collections asked for", (stops.len() as f64, None), "count", "spans")
                .of(&[span::GC_PAUSE]),
        )
        .with(case.evidence("longest of them", (longest as f64, None), "ns", "spans").of(&[span::GC_PAUSE]))
        .claiming(case, is_ours)
}

fn is_ours(cell: Cell) -> bool {
    collection_of(cell).is_some_and(is_explicit)
}
