//! How much of the heap a pause is about: from the recorder's word, else from the pause's name, else from the JVM's counters.
//!
//! A pause without a word for its kind belongs to concurrent work only if the collector is known to do such work. Otherwise
//! it is what the one collector did whose runs were counted at that time. If both ran, or neither is known, the scope stays
//! unknown.

use fathom_evidence::kinds::{counter, subject};

use crate::sources::Sources;
use crate::states::Scope;

/// What the JVM's counters say of pauses.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    /// Whether the collector is known to work concurrently.
    works_beside: bool,
    /// When runs of a collector were counted, between two looks, in order of their ends.
    runs: Vec<(i64, i64, Scope)>,
}

impl Scopes {
    /// Reads the counters.
    pub(crate) fn of(sources: &Sources<'_>) -> Scopes {
        let mut runs = Vec::new();
        let mut works_beside = is_stated(sources);
        for ((collector, _), series) in sources.counters(counter::GC_RUNS_COUNT) {
            let collector = sources.recording.text(collector);
            works_beside |= is_beside(collector);
            let Some(scope) = stopping_scope(collector) else { continue };
            runs.extend(series.rises().map(|(from_ns, to_ns, _)| (from_ns, to_ns, scope)));
        }
        runs.sort_by_key(|(_, to_ns, _)| *to_ns);
        Scopes { works_beside, runs }
    }

    /// The scope of a pause from `from_ns` to `to_ns`.
    pub(crate) fn of_pause(&self, word: &str, name: &str, (from_ns, to_ns): (i64, i64)) -> Scope {
        match of_word(word, name) {
            Some(scope) => scope,
            None if self.works_beside => Scope::Concurrent,
            None => self.counted(from_ns, to_ns),
        }
    }

    /// What was counted meanwhile. A run is counted when it begins; one that was seen to begin before belongs to another pause.
    fn counted(&self, from_ns: i64, to_ns: i64) -> Scope {
        let first = self.runs.partition_point(|(_, counted_ns, _)| *counted_ns < from_ns);
        let meanwhile = self.runs[first..].iter().take_while(|(since_ns, ..)| *since_ns < to_ns);
        let mut scopes = meanwhile.map(|(.., scope)| *scope);
        match scopes.next() {
            Some(scope) if scopes.all(|other| other == scope) => scope,
            _ => Scope::Unknown,
        }
    }
}

/// Scope by the recorder's word for it, else by the pause's name. A degenerated cycle of Shenandoah finishes a concurrent one
/// while the application stands still: the collector was too slow for the allocation, and nothing says that the whole heap is
/// full. `None` where nothing says it.
fn of_word(word: &str, name: &str) -> Option<Scope> {
    match word {
        "young" | "mixed" => Some(Scope::Young),
        "full" => Some(Scope::Full),
        "" if ["Full", "SerialOld", "ParallelOld", "MarkSweep"].iter().any(|full| name.contains(full)) => {
            Some(Scope::Full)
        }
        "" if ["Young", "DefNew", "ParNew", "Scavenge", "G1New"].iter().any(|young| name.contains(young)) => {
            Some(Scope::Young)
        }
        "" | "other" => None,
        _ => Some(Scope::Concurrent),
    }
}

/// Whether a pause is a full collection by the recorder's word or by its name.
pub(crate) fn is_said_to_be_full(word: &str, name: &str) -> bool {
    of_word(word, name) == Some(Scope::Full)
}

/// What the pauses of a collector are, by the name in its counters; none for a concurrent one.
pub(crate) fn stopping_scope(collector: &str) -> Option<Scope> {
    let is = |words: &[&str]| words.iter().any(|word| collector.contains(word));
    if is(&["oncurrent", "CMS", "cycle"]) {
        None
    } else if is(&["Old", "Compact", "MarkSweep", "MSC", "full", "Full"]) {
        Some(Scope::Full)
    } else {
        Some(Scope::Young)
    }
}

/// Whether a collector is a concurrent one, or belongs to one, by any of its names: as its counters have it, as Flight
/// Recorder and logs have it, or as a flag.
fn is_beside(collector: &str) -> bool {
    ["G1", "Z", "Shenandoah", "CMS", "Concurrent", "ConcMarkSweep"].iter().any(|family| collector.starts_with(family))
}

/// The same as the recording states it.
fn is_stated(sources: &Sources<'_>) -> bool {
    let fact = |subject: &str, key: &str| sources.recording.fact(subject, key).unwrap_or("");
    let is_on = |name: &&str| fact(subject::FLAG, &format!("Use{name}GC")) == "true";
    ["G1", "Z", "Shenandoah", "ConcMarkSweep"].iter().any(is_on)
        || [(subject::JVM, "collector"), (subject::GC, "collector"), (subject::GC, "old_collector")]
            .iter()
            .any(|(subject, key)| is_beside(fact(subject, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(works_beside: bool) -> Scopes {
        let runs = vec![(0, 20, Scope::Full), (20, 40, Scope::Full), (40, 60, Scope::Young), (40, 61, Scope::Full)];
        Scopes { works_beside, runs }
    }

    #[test]
    fn pauses_of_which_nobody_says_what_they_were() {
        for (from_ns, to_ns, expected) in [
            (5, 10, Scope::Full),
            (15, 35, Scope::Full),
            (45, 50, Scope::Unknown),
            (35, 45, Scope::Unknown),
            (70, 80, Scope::Unknown),
        ] {
            assert_eq!(
                scopes(false).of_pause("other", "Pause Other", (from_ns, to_ns)),
                expected,
                "{from_ns}..{to_ns}"
            );
        }
        assert_eq!(scopes(true).of_pause("other", "Pause Other", (5, 10)), Scope::Concurrent);
        assert_eq!(scopes(false).of_pause("young", "", (5, 10)), Scope::Young, "the recorder's word counts");
        assert_eq!(scopes(false).of_pause("", "SerialOld", (5, 10)), Scope::Full);
        assert_eq!(scopes(false).of_pause("remark", "Pause Remark", (5, 10)), Scope::Concurrent);
    }

    #[test]
    fn collectors_that_work_beside_the_application() {
        for (name, expected) in [
            ("Serial full collection pauses", false),
            ("Parallel full collection pauses", false),
            ("MSC", false),
            ("PSParallelCompact", false),
            ("Copy", false),
            ("CMS", true),
            ("ConcurrentMarkSweep", true),
            ("G1 incremental collections", true),
            ("G1Old", true),
            ("ZGC major collection pauses", true),
            ("Shenandoah", true),
            ("", false),
        ] {
            assert_eq!(is_beside(name), expected, "{name}");
        }
    }
}
