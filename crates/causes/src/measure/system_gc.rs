//! Calls of `System.gc()`, and who made them.

use std::collections::BTreeMap;

use fathom_evidence::kinds::{event, span};
use fathom_evidence::tables::{Sample, Span};
use fathom_evidence::{Recording, StackId};
use fathom_timeline::is_own;

use crate::comparison::Comparison;
use crate::measure::stacks;
use crate::period::Period;

/// The class library calls it there when memory for direct buffers is used up.
pub const FOR_DIRECT_MEMORY: &[&str] = &["java.nio.Bits.reserveMemory"];

/// What asks for a collection.
const ASKING: &[&str] = &["java.lang.Runtime.gc", "java.lang.System.gc"];

/// Whether calls are recorded with who made them (JDK 17 and later).
pub fn are_recorded(comparison: &Comparison<'_>) -> bool {
    comparison.is_recorded("jdk.SystemGC") || comparison.sources().spans(span::SYSTEM_GC).len() > 0
}

/// Calls by what they were made for.
pub struct Calls {
    /// The class library made them for direct memory.
    pub for_memory: Vec<Span>,
    /// All others.
    pub others: Vec<Span>,
    /// Whether there were no more: calls whose callers were seen by chance are only some of all.
    pub are_all: bool,
}

/// The calls of a period.
pub fn by_purpose(period: &Period<'_>) -> Calls {
    let is_for_memory = |call: &Span| stacks::is_below(period.sources.recording, call.stack_id, FOR_DIRECT_MEMORY);
    let recorded: Vec<Span> = period.spans(span::SYSTEM_GC).collect();
    let are_all = !recorded.is_empty();
    let calls = if are_all { recorded } else { sampled(period) };
    let (for_memory, others) = calls.into_iter().partition(is_for_memory);
    Calls { for_memory, others, are_all }
}

/// Pauses in which a sample of the wall clock, or of waits, saw who had asked for them: a call lasts for as long as its
/// collection.
fn sampled(period: &Period<'_>) -> Vec<Span> {
    let mut asks = stacks::are_below(period.sources.recording, ASKING);
    // Of a wait it is known how long it lasted; by the clock, that it was.
    let looked = period.samples(event::WALL).map(|sample| (sample.time_ns, sample));
    let waited =
        period.sources.samples(event::WAIT).map(|sample| (sample.time_ns.saturating_add(sample.weight_ns), sample));
    let mut asking: Vec<(i64, Sample)> = looked.chain(waited).filter(|(_, sample)| asks(sample.stack_id)).collect();
    asking.sort_by_key(|(until_ns, _)| *until_ns);
    let seen = |pause: &Span| {
        let first = asking.partition_point(|(until_ns, _)| *until_ns < pause.time_ns);
        asking.get(first).map(|(_, sample)| sample).filter(|sample| sample.time_ns < pause.end_ns())
    };
    let calls = period.pauses().filter_map(|(pause, _)| {
        let by = seen(&pause)?;
        Some(Span { tid: by.tid, stack_id: by.stack_id, ..pause })
    });
    calls.collect()
}

/// The application's own method that made most of some calls.
pub fn caller(comparison: &Comparison<'_>, calls: &[Span]) -> Option<String> {
    let recording = comparison.recording();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    calls
        .iter()
        .filter_map(|call| own_method(recording, call.stack_id))
        .for_each(|method| *counts.entry(method).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(method, _)| method.to_owned())
}

/// The innermost method of a stack that is not the class library's.
fn own_method(recording: &Recording, stack: StackId) -> Option<&str> {
    let own = recording.stacks.leaf_to_root(stack).find(|frame| is_own(recording, frame))?;
    Some(recording.text(own.symbol))
}
