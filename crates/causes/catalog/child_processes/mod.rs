//! Threads wait for processes that they have started.

use fathom_evidence::kinds::span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::waits::{self, Waits};
use crate::measure::{growth, recording_threshold};
use crate::{Cause, Comparison, Evidence, Finding, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "child_processes",
    readme: include_str!("README.md"),
    refines: &[],
    has_lab: true,
    collectors: &["system_calls", "jfr"],
    actions: &[
        "see what the child does for so long: run it by hand under perf trace or strace -f",
        "keep one child that answers many questions, or a library that does the same in the JVM",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.cell_evidence("threads waiting for other processes", "threads", is_ours);
    let by_call = waits::by_frame(comparison, &comparison.slow.time, Wait::Process);
    // Where the kernel saw a wait without its stack, those of which there is one tell where they are.
    let Some((call, waits)) = by_call.into_iter().max_by_key(|(call, waits)| (!call.is_empty(), waits.total_ns)) else {
        return none_seen(comparison);
    };
    let before = format::before(waiting.baseline, format::number);
    let place = if call.is_empty() { String::new() } else { format!("most in {call}: ") };
    let text = format!(
        "{} threads wait for other processes on average{before}; {place}{}",
        format::number(waiting.value),
        waits.says("")
    );
    if !growth::grew((waiting.value, waiting.baseline)) {
        return Finding::absent(format!("{text}: no more than before")).with(waiting);
    }
    Finding::new(Support::Observed, text).with(waiting).with(longest(comparison, &waits)).claiming(comparison, is_ours)
}

/// The kernel's collector sees each long read, the JVM those from its threshold on.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    match comparison.sources().spans(span::SYSTEM_CALL).len() {
        0 => recording_threshold::of_waits(comparison, &["jdk.FileRead"], "reads from other processes"),
        _ => Finding::absent("no long system call was a read from another process"),
    }
}

fn longest(comparison: &Comparison<'_>, waits: &Waits) -> Evidence {
    let longest = comparison.evidence("longest wait for a process", (waits.longest_ns as f64, None), "ns", "spans");
    let stack = comparison.wait_text(waits.stack, 12);
    Evidence { stack, ..longest.of(&[span::SYSTEM_CALL, span::FILE_READ, span::PARK, span::MONITOR_WAIT]) }
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::Process)
}
