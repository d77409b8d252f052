//! How far waits may be off that are known only from looks at threads now and then.
//!
//! A look that finds a thread in a wait represents the time around it. Over many looks the sum is right, and over a few it is
//! mostly chance: each look adds its own time to the sum, or not.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::detail::{Wait as Detail, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::{SAMPLES, StrId};

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
    let mut represented = Represented::of(sources);
    for (_, recorded) in partition.recorded().filter(|(tid, _)| sources.is_application(*tid)) {
        let waits = recorded.iter().filter(|segment| matches!(segment.state, ThreadState::Blocked(_)));
        for wait in waits {
            let Some(look_ns) = wait.row.and_then(|row| represented.by_a_look_ns(sources, row)) else { continue };
            let row = found.entry(wait.state).or_insert_with(|| sources.grid.zeros());
            sources.grid.spread(row, wait.from_ns, wait.to_ns, wait.length_ns() as f64 * look_ns);
        }
    }
    found
}

/// The waits that samples represent.
struct Represented {
    /// Their kind and source, if the recording has any.
    by: Option<(StrId, StrId)>,
    /// How many looks each detail tells of: of millions of rows few differ.
    looks: HashMap<StrId, Option<u32>>,
}

impl Represented {
    fn of(sources: &Sources<'_>) -> Represented {
        let strings = &sources.recording.strings;
        Represented { by: strings.find(span::SAMPLED_WAIT).zip(strings.find(SAMPLES)), looks: HashMap::new() }
    }

    /// The time that one look represents, where a row has so few that it may be chance.
    fn by_a_look_ns(&mut self, sources: &Sources<'_>, row: u32) -> Option<f64> {
        let row = sources.recording.spans.row(row as usize);
        (self.by? == (row.kind, row.source)).then_some(())?;
        let looks = self.looks.entry(row.detail);
        let looks = (*looks.or_insert_with(|| from_text::<Detail>(sources.recording.text(row.detail)).looks))?;
        (looks <= FEW_LOOKS).then(|| row.duration_ns.max(0) as f64 / f64::from(looks.max(1)))
    }
}
