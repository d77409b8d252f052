//! Words for what the owner of a lock or permit did while threads of the application waited for it.

use std::collections::BTreeMap;

use fathom_evidence::detail::{Blocked, from_text};
use fathom_evidence::kinds::span;
use fathom_timeline::{Root, ThreadState, Wait};

use crate::comparison::Comparison;

/// What those that had a lock waited for most themselves, and for how long while others waited for them, in ns.
pub(super) fn most_waited_for(comparison: &Comparison<'_>) -> Option<(String, f64)> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for waiting in comparison.resolved().iter().filter(|waiting| matches!(waiting.wait, Wait::Lock | Wait::Permit)) {
        if let Some(root) = waiting.root.filter(|root| !root.ran()) {
            *sums.entry(words(comparison, &root)).or_default() += waiting.waiting_ns;
        }
    }
    sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ns)| *ns > 0.0)
}

/// `waiting for files`, `off its CPU (write)`.
fn words(comparison: &Comparison<'_>, root: &Root) -> String {
    let is_named =
        !matches!(root.segment.state, ThreadState::Unknown | ThreadState::Idle | ThreadState::Blocked(Wait::Unnamed));
    match root.segment.row {
        Some(row) if !is_named => format!("off its CPU ({})", how(comparison, row)),
        _ => root.segment.state.to_string(),
    }
}

/// In which system call, or in which kind of wait.
fn how(comparison: &Comparison<'_>, row: u32) -> String {
    let recording = comparison.recording();
    let wait = recording.spans.row(row as usize);
    let detail: Blocked = from_text(recording.text(wait.detail));
    let (kind, name) = (recording.text(wait.kind), recording.text(wait.name));
    let call = detail.system_call.filter(|call| !call.is_empty());
    call.unwrap_or_else(|| match kind {
        span::BLOCKED | span::SYSTEM_CALL => name.to_owned(),
        kind => kind.replace('_', " "),
    })
}
