//! What the application's own code ran most, whatever it ran before: if a process fills the CPUs by itself, this is what
//! can be made cheaper.

use std::collections::BTreeMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Recording, StackId};

use crate::Comparison;
use crate::limits::MIN_SAMPLES;
use crate::measure::stacks::{most_seen, running_event};

/// A method with its part of the application's samples of the slow time.
pub(super) struct Busiest {
    /// The innermost Java method that was compiled by itself: which of those inlined into it ran is a guess.
    pub(super) method: String,
    /// Its part, also by native code that it calls.
    pub(super) part: f64,
    /// The stack that was seen most.
    pub(super) stack: StackId,
}

/// None of too few samples.
pub(super) fn busiest(comparison: &Comparison<'_>) -> Option<Busiest> {
    let recording = comparison.recording();
    let own = comparison.slow.samples(running_event(comparison));
    let own = own.filter(|sample| comparison.sources().is_application(sample.tid));
    let mut by_method: BTreeMap<&str, (f64, BTreeMap<StackId, f64>)> = BTreeMap::new();
    let (mut all, mut count) = (0.0, 0);
    for sample in own {
        let weight = sample.weight_ns.max(0) as f64;
        (all, count) = (all + weight, count + 1);
        let Some(method) = innermost_java(recording, sample.stack_id) else { continue };
        let (sum, stacks) = by_method.entry(method).or_default();
        *sum += weight;
        *stacks.entry(sample.stack_id).or_default() += weight;
    }
    let (method, (sum, stacks)) = by_method.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let part = sum / all.max(f64::MIN_POSITIVE);
    (count >= MIN_SAMPLES).then(|| Busiest { method: method.to_owned(), part, stack: most_seen(&stacks) })
}

fn innermost_java(recording: &Recording, stack: StackId) -> Option<&str> {
    const OTHERS: [&str; 4] = [frame::NATIVE, frame::VM, frame::KERNEL, frame::INLINED];
    let mut frames = recording.stacks.leaf_to_root(stack);
    let java = frames.find(|frame| !OTHERS.contains(&recording.text(frame.kind)))?;
    Some(recording.text(java.symbol))
}
