//! Whole collections: from the first to the last that a log says of one number.

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
pub(super) struct Cycles(BTreeMap<u64, Cycle>);

impl Cycles {
    /// The collection `gc_id`, which certainly lasted from `start_ns` to `end_ns`.
    pub(super) fn extend(&mut self, gc_id: u64, start_ns: i64, end_ns: i64) -> &mut Cycle {
        let cycle = self.0.entry(gc_id).or_insert_with(|| Cycle {
            gc_id,
            start_ns,
            end_ns,
            sum_of_pauses_ns: 0,
            longest_pause_ns: 0,
            cause: String::new(),
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
        let newest = self.0.last_key_value().map_or(gc_id, |(newest, _)| *newest);
        if gc_id.saturating_add(MAX_OPEN) < newest {
            return self.finish();
        }
        let open = self.0.split_off(&newest.saturating_sub(MAX_OPEN));
        std::mem::replace(&mut self.0, open).into_values().collect()
    }

    /// All of them.
    pub(super) fn finish(&mut self) -> Vec<Cycle> {
        std::mem::take(&mut self.0).into_values().collect()
    }
}
