//! What never ends: requests without an answer, as a signal, and threads in a deadlock. A healthy service has neither.

use fathom_evidence::detail::{Wait, from_text};
use fathom_evidence::kinds::span;

use super::{SECOND, Signal, SignalKind};
use crate::account::Account;
use crate::sources::Sources;
use crate::unanswered::Unanswered;

pub(super) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    Some(Signal::new(SignalKind::UnansweredRequests, Unanswered::of(sources)?.hanging(sources, account)))
}

/// Threads that the JVM found in a deadlock: two are few, but they never go on.
pub(super) fn deadlock(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    let text = |detail| from_text::<Wait>(sources.recording.text(detail));
    let mut found =
        sources.spans(span::SAMPLED_WAIT).filter(|wait| text(wait.detail).deadlock == Some(true)).peekable();
    found.peek()?;
    let mut threads = account.grid.zeros();
    for wait in found {
        let to_ns = wait.time_ns.saturating_add(wait.duration_ns);
        account.grid.spread(&mut threads, wait.time_ns, to_ns, wait.duration_ns as f64 / SECOND);
    }
    Some(Signal::new(SignalKind::Deadlock, threads))
}
