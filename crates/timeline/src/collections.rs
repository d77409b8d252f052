//! What each collection is, from its name, its cause and its number.

use std::collections::HashMap;

use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::span;
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
