//! Requests that nobody answers, as a signal: a healthy service answers.

use super::{Signal, SignalKind};
use crate::account::Account;
use crate::sources::Sources;
use crate::unanswered::Unanswered;

pub(super) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    let values = Unanswered::of(sources)?.hanging(sources, account);
    let (kind, ideal_is_zero) = (SignalKind::UnansweredRequests, true);
    Some(Signal { kind, values, floor: 1.0, factor: 3.0, alone: f64::INFINITY, run: 3, ideal_is_zero })
}
