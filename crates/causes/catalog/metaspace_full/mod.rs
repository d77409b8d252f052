//! Collections because metaspace reached its threshold or its limit: classes are loaded, and hardly any go.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Cell, Collection, Origin};

use crate::measure::collections::{collection_of, stops};
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "metaspace_full",
    readme: include_str!("README.md"),
    refines: &[],
    has_lab: false,
    collectors: &["jfr"],
    actions: &[
        "find who loads classes all the time: -Xlog:class+load, jcmd PID VM.classloaders, jcmd PID VM.metaspace",
        "a larger -XX:MetaspaceSize, from which on the first collection comes; a larger -XX:MaxMetaspaceSize, if it is a limit that \
         is reached",
    ],
    decide,
};

fn decide(case: &Case<'_>) -> Finding {
    let collections = stops(case, is_ours);
    if collections.is_empty() && !case.excess().cells.iter().any(|excess| is_of_metaspace(excess.cell)) {
        return match case.has_collections() {
            true => Finding::absent("no collection because of metaspace in the slow time"),
            false => Finding::needs_gc_log(),
        };
    }
    let total: f64 = collections.iter().map(|(_, length)| *length as f64).sum();
    let longest = collections.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let text = format!(
        "{} because of metaspace: {} in all, the longest {}",
        say::count(collections.len(), "pause"),
        say::time(total),
        say::time(longest as f64)
    );
    let count = (collections.len() as f64, None);
    Finding::new(Standing::Seen, text)
        .with(case.evidence("pauses because of metaspace", count, "count", "spans").of(&[span::GC_PAUSE]))
        .with(case.cell_evidence("stopped or busy with collections because of metaspace", "threads", is_of_metaspace))
        .with_all(metaspace_bytes(case).map(|bytes| {
            case.evidence("metaspace in use at most", (bytes, None), "bytes", "counters")
                .of(&[counter::METASPACE_USED_BYTES])
        }))
        .claiming(case, is_of_metaspace)
}

fn is_ours(collection: Collection) -> bool {
    collection.origin == Origin::Metaspace
}

fn is_of_metaspace(cell: Cell) -> bool {
    collection_of(cell).is_some_and(is_ours)
}

fn metaspace_bytes(case: &Case<'_>) -> Option<f64> {
    case.slow.max(&case.view().counter_sum(counter::METASPACE_USED_BYTES))
}
