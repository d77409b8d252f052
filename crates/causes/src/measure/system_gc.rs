//! Calls of `System.gc()`, and who made them.

use std::collections::BTreeMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use crate::comparison::Comparison;
use crate::measure::stacks;
use crate::period::Period;

/// The class library calls it there when memory for direct buffers is used up.
pub const FOR_DIRECT_MEMORY: &[&str] = &["java.nio.Bits.reserveMemory"];

/// Whether calls are recorded with who made them (JDK 17 and later).
pub fn are_recorded(comparison: &Comparison<'_>) -> bool {
    comparison.is_recorded("jdk.SystemGC") || comparison.sources().spans(span::SYSTEM_GC).len() > 0
}

/// The calls of a side that the class library made for direct memory, and all others.
pub fn by_purpose(side: &Period<'_>) -> (Vec<Span>, Vec<Span>) {
    let is_ours = |call: &Span| stacks::is_below(side.sources.recording, call.stack_id, FOR_DIRECT_MEMORY);
    side.spans(span::SYSTEM_GC).partition(is_ours)
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
    const LIBRARY: &[&str] = &["java.", "jdk.", "sun.", "javax.", "com.sun."];
    let mut symbols = recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    symbols.find(|symbol| symbol.contains('.') && !LIBRARY.iter().any(|library| symbol.starts_with(library)))
}
