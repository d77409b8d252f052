//! Memory pools and memory managers by the names that the JVM gives them.

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use super::NAME;
use super::probes::SIZES;
use crate::hsperfdata::scope;

/// Segments of the code cache that are reported; there are three or one.
const SEGMENTS_MAX: usize = 8;

/// What some pools hold together; `None` when there is no such pool.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) used: Option<u64>,
    pub(super) committed: Option<u64>,
}

impl Bytes {
    fn add(&mut self, used: i64, committed: i64) {
        let sum = |sum: Option<u64>, part: i64| match u64::try_from(part) {
            Ok(part) => Some(sum.unwrap_or(0).saturating_add(part)),
            Err(_) => sum,
        };
        (self.used, self.committed) = (sum(self.used, used), sum(self.committed, committed));
    }
}

/// The pools at one instant.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// How many were reported.
    pub(super) pools: usize,
    pub(super) young: Bytes,
    pub(super) old: Bytes,
    /// Of a heap without generations.
    whole: Bytes,
    metaspace: Bytes,
    /// Name, bytes in use and size limit of each segment of the code cache.
    code: Vec<(String, i64, i64)>,
}

impl Usage {
    pub(super) fn add(&mut self, pool: &str, used: i64, committed: i64, max: i64) {
        self.pools += 1;
        match part_of(pool) {
            Part::Young => self.young.add(used, committed),
            Part::Old => self.old.add(used, committed),
            Part::Whole => self.whole.add(used, committed),
            Part::Metaspace => self.metaspace.add(used, committed),
            Part::Code(name) if self.code.len() < SEGMENTS_MAX => self.code.push((name.to_owned(), used, max)),
            Part::Code(_) | Part::Other => {}
        }
    }

    /// The generations as the JVM's counters have them; nothing where it has no such counters.
    pub(super) fn of_counters(sizes: [i64; SIZES]) -> Usage {
        let [old_capacity, old_used, young_capacity, eden, first, second] = sizes;
        let mut usage = Usage::default();
        if old_capacity > 0 {
            usage.old.add(old_used, old_capacity);
            usage.young.add(eden.saturating_add(first).saturating_add(second), young_capacity);
        }
        usage
    }

    pub(super) fn heap(&self) -> Bytes {
        let parts = [self.young, self.old, self.whole];
        let sum = |of: fn(&Bytes) -> Option<u64>| parts.iter().filter_map(of).reduce(u64::saturating_add);
        Bytes { used: sum(|part| part.used), committed: sum(|part| part.committed) }
    }

    /// Writes what is known.
    pub(super) fn write(&self, at_ns: i64, when: &str, found: &mut Recording) {
        let heap = self.heap();
        for (word, value) in [
            (counter::HEAP_USED_BYTES, heap.used),
            (counter::HEAP_COMMITTED_BYTES, heap.committed),
            (counter::YOUNG_USED_BYTES, self.young.used),
            (counter::YOUNG_CAPACITY_BYTES, self.young.committed),
            (counter::OLD_USED_BYTES, self.old.used),
            (counter::OLD_CAPACITY_BYTES, self.old.committed),
            (counter::METASPACE_USED_BYTES, self.metaspace.used),
        ] {
            if let Some(value) = value {
                found.add_counter(at_ns, word, when, value as f64, NAME);
            }
        }
        for (segment, used, max) in self.code.iter().filter(|_| when == "after_gc") {
            found.add_counter(at_ns, counter::CODE_CACHE_USED_BYTES, segment, *used as f64, NAME);
            found.add_counter(at_ns, counter::CODE_CACHE_RESERVED_BYTES, segment, *max as f64, NAME);
        }
    }
}

/// What a pool is part of.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Young,
    Old,
    Whole,
    Metaspace,
    /// A segment of the code cache; empty for the only one.
    Code(&'a str),
    Other,
}

fn part_of(pool: &str) -> Part<'_> {
    match pool {
        "Metaspace" => Part::Metaspace,
        "CodeCache" | "Code Cache" => Part::Code(""),
        "ZHeap" | "Shenandoah" | "Epsilon Heap" => Part::Whole,
        _ if pool.starts_with("CodeHeap") => Part::Code(pool),
        _ if ["Eden", "Survivor", "Young"].iter().any(|word| pool.contains(word)) => Part::Young,
        _ if ["Old", "Tenured"].iter().any(|word| pool.contains(word)) => Part::Old,
        _ => Part::Other,
    }
}

/// Name as Flight Recorder has it, and scope, of what a memory manager collects, or a collector of the JVM's counters.
pub(super) fn scope_of_manager<'a>(manager: &'a str, operation: &str) -> (&'a str, &'static str) {
    match manager {
        "G1 Young Generation" => ("G1New", "young"),
        "G1 Old Generation" => ("G1Full", "full"),
        "PS Scavenge" => ("ParallelScavenge", "young"),
        "PS MarkSweep" => ("ParallelOld", "full"),
        "Copy" => ("DefNew", "young"),
        "ParNew" => ("ParNew", "young"),
        "MarkSweepCompact" => ("SerialOld", "full"),
        _ => (manager, scope_of_collector(manager, operation)),
    }
}

/// Scope by the operation, where that says it, else by the collector's name.
fn scope_of_collector(collector: &str, operation: &str) -> &'static str {
    match scope_of_operation(operation, false) {
        "other" => scope(collector).unwrap_or("other"),
        named => named,
    }
}

/// Scope of a pause by the operation of the VM thread that makes it.
pub(super) fn scope_of_operation(operation: &str, is_full: bool) -> &'static str {
    const SCOPES: [(&[&str], &str); 7] = [
        (&["remark"], "remark"),
        (&["cleanup"], "cleanup"),
        (&["markend", "finalmark"], "mark_end"),
        (&["markstart", "initmark"], "mark_start"),
        (&["relocatestart"], "relocate_start"),
        (&["degenerated"], "degenerated"),
        (&["fullgc"], "full"),
    ];
    let operation = operation.to_ascii_lowercase();
    let named = SCOPES.iter().find(|(words, _)| words.iter().any(|word| operation.contains(word)));
    named.map_or(if is_full { "full" } else { "other" }, |(_, scope)| scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_all_collectors() {
        for (pool, expected) in [
            ("G1 Eden Space", Part::Young),
            ("PS Survivor Space", Part::Young),
            ("Eden Space", Part::Young),
            ("ZGC Young Generation", Part::Young),
            ("G1 Old Gen", Part::Old),
            ("Tenured Gen", Part::Old),
            ("CMS Old Gen", Part::Old),
            ("ZHeap", Part::Whole),
            ("Metaspace", Part::Metaspace),
            ("Compressed Class Space", Part::Other),
            ("CodeHeap 'profiled nmethods'", Part::Code("CodeHeap 'profiled nmethods'")),
            ("CodeCache", Part::Code("")),
            ("", Part::Other),
        ] {
            assert_eq!(part_of(pool), expected, "{pool}");
        }
    }

    #[test]
    fn the_heap_is_the_sum_of_its_generations() {
        let mut usage = Usage::default();
        for (pool, used, committed) in
            [("PS Eden Space", 10, 20), ("PS Survivor Space", 1, 5), ("PS Old Gen", 100, 200), ("Metaspace", 7, 8)]
        {
            usage.add(pool, used, committed, -1);
        }
        assert_eq!(usage.heap(), Bytes { used: Some(111), committed: Some(225) });
        assert_eq!(usage.young, Bytes { used: Some(11), committed: Some(25) });
        assert_eq!(Usage::default().heap(), Bytes::default(), "no pool, no number");
    }

    #[test]
    fn scopes() {
        for (operation, is_full, expected) in [
            ("G1PauseRemark", false, "remark"),
            ("G1PauseCleanup", false, "cleanup"),
            ("ZMarkStartYoung", false, "mark_start"),
            ("ShenandoahFinalMarkStartEvac", false, "mark_end"),
            ("ShenandoahDegeneratedGC", false, "degenerated"),
            ("ShenandoahFullGC", false, "full"),
            ("ZRelocateStart", false, "relocate_start"),
            ("CGC_Operation", false, "other"),
            ("", true, "full"),
        ] {
            assert_eq!(scope_of_operation(operation, is_full), expected, "{operation}");
        }
        assert_eq!(scope_of_manager("PS MarkSweep", ""), ("ParallelOld", "full"));
        assert_eq!(scope_of_manager("ZGC Pauses", "ZMarkEnd"), ("ZGC Pauses", "mark_end"));
        for (collector, operation, expected) in [
            ("MSC", "GenCollectForAllocation", "full"),
            ("Serial young collection pauses", "SerialCollectForAllocation", "young"),
            ("PSParallelCompact", "ParallelGCFailedAllocation", "full"),
            ("G1 concurrent cycle pauses", "G1PauseRemark", "remark"),
            ("G1 concurrent cycle pauses", "", "other"),
            ("Shenandoah concurrent", "", "other"),
        ] {
            assert_eq!(scope_of_manager(collector, operation), (collector, expected), "{collector}");
        }
    }
}
