//! Whole collections: from the first to the last line with the same collection number.

use std::collections::BTreeMap;

/// Collections that may be under way at a time. Concurrent ones are overtaken by a few others.
const MAX_OPEN: u64 = 64;

/// One collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) gc_id: u64,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) sum_of_pauses_ns: i64,
    pub(super) longest_pause_ns: i64,
    pub(super) cause: String,
    /// What the log calls it; empty if only its parts are logged.
    pub(super) name: String,
    /// Scope of the first pause.
    pub(super) scope: &'static str,
    pub(super) heap: Option<(u64, u64)>,
}

/// Collections under way.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    open: BTreeMap<u64, Cycle>,
    /// Why the next collection begins, where the log says that before it.
    announced_cause: String,
}

impl Cycles {
    /// Remembers what Shenandoah says before a collection that was requested: `Trigger: GC request (System.gc())`.
    /// Other triggers are caused by a lack of memory.
    pub(super) fn announce(&mut self, trigger: &str) {
        let request = trigger.split_once("GC request (").and_then(|(_, cause)| cause.strip_suffix(')'));
        self.announced_cause = request.unwrap_or_default().to_owned();
    }

    /// The collection `gc_id`, which certainly lasted from `start_ns` to `end_ns`.
    pub(super) fn extend(&mut self, gc_id: u64, start_ns: i64, end_ns: i64) -> &mut Cycle {
        let announced_cause = &mut self.announced_cause;
        let cycle = self.open.entry(gc_id).or_insert_with(|| Cycle {
            gc_id,
            start_ns,
            end_ns,
            sum_of_pauses_ns: 0,
            longest_pause_ns: 0,
            cause: std::mem::take(announced_cause),
            name: String::new(),
            scope: "",
            heap: None,
        });
        cycle.start_ns = cycle.start_ns.min(start_ns);
        cycle.end_ns = cycle.end_ns.max(end_ns);
        cycle
    }

    /// Collections that cannot get longer now that `gc_id` was seen: much older ones, and if the
    /// numbers have begun again all of them.
    pub(super) fn done(&mut self, gc_id: u64) -> Vec<Cycle> {
        let newest = self.open.last_key_value().map_or(gc_id, |(newest, _)| *newest);
        if gc_id.saturating_add(MAX_OPEN) < newest {
            return self.finish();
        }
        let open = self.open.split_off(&newest.saturating_sub(MAX_OPEN));
        std::mem::replace(&mut self.open, open).into_values().collect()
    }

    /// All of them. What was announced was for this run of the JVM.
    pub(super) fn finish(&mut self) -> Vec<Cycle> {
        self.announced_cause.clear();
        std::mem::take(&mut self.open).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announced_cause_is_the_next_collections() {
        for (trigger, expected) in [
            ("Trigger: GC request (System.gc())", "System.gc()"),
            ("Trigger: Explicit GC request (System.gc())", "System.gc()"),
            ("Trigger: Free (1234K) is below minimum threshold (2000K)", ""),
            ("Trigger: GC request (", ""),
        ] {
            let mut cycles = Cycles::default();
            cycles.extend(6, 0, 10);
            cycles.announce(trigger);
            let causes = [6, 7, 7, 8].map(|gc_id| cycles.extend(gc_id, 10, 20).cause.clone());
            assert_eq!(causes, ["", expected, expected, ""], "{trigger}");
        }
    }
}
