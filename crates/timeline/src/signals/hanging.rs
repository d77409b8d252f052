//! Requests that nobody answers, as a signal: a healthy service answers.

use super::{Signal, SignalKind};
use crate::account::Account;
use crate::sources::Sources;
use crate::unanswered::Unanswered;

pub(super) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    Some(Signal::new(SignalKind::UnansweredRequests, Unanswered::of(sources)?.hanging(sources, account)))
}
