//! Threads wait for connections to be made: nobody answers their attempts, or late.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{ThreadState, Wait};

use crate::measure::growth;
use crate::measure::waits::{self, Waits};
use crate::{Cause, Comparison, Evidence, Finding, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "connect_slow",
    readme: include_str!("README.md"),
    refines: &["slow_downstream"],
    has_lab: false,
    collectors: &["system_calls", "async_profiler", "sockets"],
    actions: &[
        "is the peer there, and does something on the way drop the segments: firewall, security group, dead node behind a service's address, full accept queue of the peer",
        "set a time limit for connecting (a second, not the system's two minutes), and keep connections",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.cell_evidence("threads waiting for connections to be made", "threads", is_ours);
    let by_call = waits::by_frame(comparison, &comparison.slow.time, Wait::Connect);
    let Some((call, waits)) = by_call.into_iter().max_by_key(|(call, waits)| (!call.is_empty(), waits.total_ns)) else {
        return none_seen(comparison);
    };
    let before = format::before(waiting.baseline, format::number);
    let place = if call.is_empty() { String::new() } else { format!("most in {call}: ") };
    let text = format!(
        "{} threads wait for connections to be made on average{before}; {place}{}{}",
        format::number(waiting.value),
        waits.says(""),
        to_whom(comparison)
    );
    if !growth::grew((waiting.value, waiting.baseline)) {
        return Finding::absent(format!("{text}: no more than before")).with(waiting);
    }
    Finding::new(Support::Observed, text).with(waiting).with(longest(comparison, &waits)).claiming(comparison, is_ours)
}

/// The kernel's collector sees each long attempt that has ended, samples of the wall clock also those that go on.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    match comparison.sources().spans(span::SYSTEM_CALL).len() {
        0 => Finding::needs_kernel("how long attempts to connect took was not recorded"),
        _ => Finding::absent("no thread was seen to wait long for a connection"),
    }
}

/// `; most of them to 10.0.0.5:5432`: whose answer was waited for most, as far as sockets were looked at.
fn to_whom(comparison: &Comparison<'_>) -> String {
    let attempts = comparison.sources().counters(counter::CONNECTING_COUNT);
    let waited = attempts.iter().map(|((peer, _), series)| (comparison.slow.max(series).unwrap_or(0.0), *peer));
    let most = waited.filter(|(count, _)| *count > 0.0).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    most.map_or_else(String::new, |(_, peer)| format!("; to {}", comparison.recording().text(peer)))
}

fn longest(comparison: &Comparison<'_>, waits: &Waits) -> Evidence {
    let longest = comparison.evidence("longest wait for a connection", (waits.longest_ns as f64, None), "ns", "spans");
    let stack = comparison.wait_text(waits.stack, 12);
    Evidence { stack, ..longest.of(&[span::SYSTEM_CALL, span::BLOCKED]) }
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::Connect)
}
