//! Turns runs of collectors into pauses of the application, with the memory in use after them.
//!
//! A JVM that collects all the time answers no request, but keeps these counters. They describe only the last run: if
//! several runs follow each other faster than the looks, only the sum of their lengths is known, and it becomes one pause.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, to_text};
use fathom_evidence::kinds::{counter, span};

use super::SOURCE;
use crate::jvm_counters::Counters;

/// What the JVM writes while it does not collect.
const NO_CAUSE: &str = "No GC";

/// One pause, or several that cannot be separated.
pub(super) struct Pause<'a> {
    pub(super) collector: &'a str,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) cause: Option<String>,
    pub(super) runs: i64,
}

impl Pause<'_> {
    /// Writes it, unless the collector runs beside the application.
    pub(super) fn write(self, counters: &Counters, found: &mut Recording) {
        let Some(scope) = scope(self.collector) else { return };
        let [young, old] = [0, 1].map(|generation| Generation::of(counters, generation));
        let heap = young.used.zip(old.used).map(|(young, old)| young.saturating_add(old));
        let detail = Gc {
            cause: self.cause,
            scope: Some(scope.to_owned()),
            collector: Some(self.collector.to_owned()),
            level: Some(0),
            heap_after_bytes: heap,
            old_after_bytes: old.used,
            old_capacity_bytes: old.capacity,
            young_after_bytes: young.used,
            young_capacity_bytes: young.capacity,
            ..Gc::default()
        };
        let mut name = match scope {
            "full" => "Pause Full".to_owned(),
            "young" => "Pause Young".to_owned(),
            _ => "Pause".to_owned(),
        };
        if self.runs > 1 {
            name = format!("{name} ({} of them)", self.runs);
        }
        let duration_ns = self.to_ns.saturating_sub(self.from_ns).max(0);
        found.add_span(self.from_ns, duration_ns, 0, span::GC_PAUSE, &name, &to_text(&detail), SOURCE);
        for (word, bytes) in [
            (counter::HEAP_USED_BYTES, heap),
            (counter::OLD_USED_BYTES, old.used),
            (counter::OLD_CAPACITY_BYTES, old.capacity),
            (counter::YOUNG_USED_BYTES, young.used),
            (counter::YOUNG_CAPACITY_BYTES, young.capacity),
        ] {
            if let Some(bytes) = bytes {
                found.add_counter(self.to_ns, word, "after_gc", bytes as f64, SOURCE);
            }
        }
    }
}

/// Why it collects, or did, if it says so.
pub(super) fn cause(counters: &Counters, name: &str) -> Option<String> {
    counters.text(name).filter(|cause| !cause.is_empty() && cause != NO_CAUSE)
}

/// A generation as its counters have it, which change with collections only.
#[derive(Debug, Default)]
struct Generation {
    used: Option<u64>,
    capacity: Option<u64>,
}

/// Spaces of a generation: eden and two survivors, or one.
const SPACES_MAX: usize = 8;

impl Generation {
    fn of(counters: &Counters, generation: usize) -> Generation {
        let prefix = format!("sun.gc.generation.{generation}");
        let sum = |what: &str| {
            let spaces = (0..SPACES_MAX).map_while(|space| counters.number(&format!("{prefix}.space.{space}.{what}")));
            spaces.filter_map(|bytes| u64::try_from(bytes).ok()).reduce(u64::saturating_add)
        };
        Generation { used: sum("used"), capacity: sum("capacity") }
    }
}

/// What a collector's runs are to the application, by its name; `None` for one that runs beside it.
pub fn scope(collector: &str) -> Option<&'static str> {
    let name = collector.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match () {
        () if has(&["concurrent"]) && !has(&["pause"]) => None,
        () if has(&["full", "parallelcompact", "marksweep"]) || name == "msc" => Some("full"),
        () if has(&["young", "scavenge", "incremental", "parnew", "minor"]) || name == "copy" => Some("young"),
        () => Some("other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_by_their_names() {
        for (name, expected) in [
            ("Parallel full collection pauses", Some("full")),
            ("PSParallelCompact", Some("full")),
            ("Parallel young collection pauses", Some("young")),
            ("PSScavenge", Some("young")),
            ("G1 young collection pauses", Some("young")),
            ("G1 incremental collections", Some("young")),
            ("G1 stop-the-world full collections", Some("full")),
            ("G1 concurrent cycle pauses", Some("other")),
            ("Serial full collection pauses", Some("full")),
            ("MSC", Some("full")),
            ("Copy", Some("young")),
            ("ZGC minor collection pauses", Some("young")),
            ("Shenandoah concurrent", None),
            ("", Some("other")),
        ] {
            assert_eq!(scope(name), expected, "{name}");
        }
    }
}
