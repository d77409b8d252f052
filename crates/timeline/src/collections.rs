//! What each collection is, from its name, its cause and its number.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;

use crate::cells::{Collection, Origin, Scope};
use crate::view::View;

/// Why each collection was started, by its number.
pub(crate) struct Causes(HashMap<u64, Origin>);

impl Causes {
    /// Reads them from everything that has both.
    pub(crate) fn of(view: &View<'_>) -> Causes {
        let mut causes = HashMap::new();
        for kind in [span::GC, span::GC_PAUSE] {
            for gc in view.spans(kind) {
                let detail: Gc = from_text(view.recording.text(gc.detail));
                if let (Some(id), Some(cause)) = (detail.gc_id, &detail.cause) {
                    causes.insert(id, Origin::of_cause(cause));
                }
            }
        }
        // G1 gives a concurrent cycle the number after the pause that starts it, and no cause.
        let starts: Vec<(u64, Origin)> = causes.iter().map(|(id, origin)| (*id, *origin)).collect();
        for (id, origin) in starts {
            causes.entry(id.saturating_add(1)).or_insert(origin);
        }
        Causes(causes)
    }

    /// What the collection is that a pause or phase belongs to.
    pub(crate) fn collection(&self, view: &View<'_>, part: &Span) -> Collection {
        let detail: Gc = from_text(view.recording.text(part.detail));
        let name = view.recording.text(part.name);
        let by_id = || detail.gc_id.and_then(|id| self.0.get(&id)).copied();
        let own = detail.cause.as_deref().map(Origin::of_cause);
        let origin = own.or_else(by_id).unwrap_or_else(|| Origin::of_cause(name));
        Collection { scope: scope_of(detail.scope.as_deref().unwrap_or(""), name), origin }
    }
}

/// JFR reports the CPU time of a collection right after it, in ns.
const REPORT_DELAY_NS: i64 = 5_000_000;

/// CPU time of the collector in its pauses.
pub(crate) struct PauseCpu {
    /// What was reported apart from the pauses, by time.
    reported: Vec<(i64, f64)>,
}

impl PauseCpu {
    /// Reads what there is.
    pub(crate) fn of(view: &View<'_>) -> PauseCpu {
        let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
        for series in view.counters(counter::GC_CPU_NS).into_values() {
            for (time, ns) in series.0 {
                *sums.entry(time).or_default() += ns;
            }
        }
        PauseCpu { reported: sums.into_iter().collect() }
    }

    /// CPU time of all the collector's threads in one pause, in ns, if it is known.
    pub(crate) fn ns(&self, view: &View<'_>, pause: &Span) -> Option<f64> {
        let detail: Gc = from_text(view.recording.text(pause.detail));
        let own = detail.user_ns.map(|user| user.saturating_add(detail.system_ns.unwrap_or(0)) as f64);
        own.or_else(|| {
            let end = pause.end_ns().saturating_add(REPORT_DELAY_NS);
            let next = self.reported.partition_point(|(time, _)| *time < pause.time_ns);
            self.reported.get(next).filter(|(time, _)| *time <= end).map(|(_, ns)| *ns)
        })
    }
}

/// Scope of a pause from the reader's word for it, else from its name.
fn scope_of(scope: &str, name: &str) -> Scope {
    match scope {
        "young" | "mixed" => Scope::Young,
        "full" | "degenerated" => Scope::Full,
        "" if name.contains("Full") => Scope::Full,
        "" if name.contains("Young") => Scope::Young,
        _ => Scope::Concurrent,
    }
}
