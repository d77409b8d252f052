//! How far waits may be off that are known only from looks at threads now and then.
//!
//! A look that finds a thread in a wait represents the time around it. Over many looks the sum is right, and over a few it is
//! mostly chance: each look adds its own time to the sum, or not.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::{Recording, StrId, looks_of};

use crate::partition::Partition;
use crate::sources::Sources;
use crate::states::ThreadState;

/// More than so many standard deviations are no chance.
const CHANCE: f64 = 3.0;

/// A wait that more looks found is one that lasted, and no chance.
const FEW_LOOKS: u32 = 2;

/// What chance may add to a sum with this variance, in the unit of the sum.
pub(crate) fn chance(variance: f64) -> f64 {
    CHANCE * variance.max(0.0).sqrt()
}

/// The variance of the time of each state by bucket, in ns², as far as only single looks show it.
pub(crate) fn variance(sources: &Sources<'_>, partition: &Partition) -> BTreeMap<ThreadState, Vec<f64>> {
    let mut found: BTreeMap<ThreadState, Vec<f64>> = BTreeMap::new();
    let mut known = Known::default();
    for (_, recorded) in partition.recorded().filter(|(tid, _)| sources.is_application(*tid)) {
        let waits = recorded.iter().filter(|segment| matches!(segment.state, ThreadState::Blocked(_)));
        for wait in waits {
            let Some(look_ns) = wait.row.and_then(|row| known.by_a_look_ns(sources.recording, row)) else { continue };
            let row = found.entry(wait.state).or_insert_with(|| sources.grid.zeros());
            sources.grid.spread(row, wait.from_ns, wait.to_ns, wait.length_ns() as f64 * look_ns);
        }
    }
    found
}

/// How many looks stand behind a wait, by its kind, source and detail: of millions of rows few differ.
#[derive(Default)]
struct Known(HashMap<(StrId, StrId, StrId), Option<u32>>);

impl Known {
    /// The time that one look represents, where a row has so few that it may be chance.
    fn by_a_look_ns(&mut self, recording: &Recording, row: u32) -> Option<f64> {
        let row = recording.spans.row(row as usize);
        let looks = self.0.entry((row.kind, row.source, row.detail)).or_insert_with(|| looks_of(recording, &row));
        let looks = looks.filter(|looks| *looks <= FEW_LOOKS)?;
        Some(row.duration_ns.max(0) as f64 / f64::from(looks.max(1)))
    }
}
