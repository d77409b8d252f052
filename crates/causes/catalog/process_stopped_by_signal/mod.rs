//! The whole process was stopped: by a signal, a debugger, a freezer.

use std::collections::BTreeSet;

use fathom_evidence::kinds::{recorded, span, stopped, subject};
use fathom_timeline::{Stop, StopSpan, ThreadState};

use crate::limits::MIN_COVERED_SHARE;
use crate::{Cause, Comparison, Family, Finding, Need, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "process_stopped_by_signal",
    readme: include_str!("README.md"),
    family: Family::Machine,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["threads", "cgroup"],
    needs: &[&[Need::Fact(subject::RECORDING, recorded::PROCESS_STOP_LOOKS_NS)]],
    actions: &[
        "find who sends SIGSTOP or SIGTSTP: the tracepoint signal:signal_generate has the sender",
        "start services away from a terminal, and copy their files from a snapshot instead of holding them",
        "docker commit --pause=false; no gcore, jstack -F or jmap -F on a service that is in use",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let stops: Vec<&StopSpan> =
        comparison.slow_stops().filter(|stop| is_ours(ThreadState::Stopped(stop.stop))).collect();
    if stops.is_empty() {
        return match was_looked_at(comparison) {
            true => Finding::absent("the process was never stopped (checked every 100 ms)"),
            false => Finding::unknown(
                "whether the process was stopped was not recorded",
                "fathom record --pid PID --for 60s",
            ),
        };
    }
    let total: f64 = stops.iter().map(|stop| stop.duration_ns() as f64).sum();
    let longest = stops.iter().map(|stop| stop.duration_ns()).max().unwrap_or(0) as f64;
    let says = format!(
        "{} stopped the whole process {}, for {} in all, the longest {}",
        who(comparison),
        format::count(stops.len(), "time"),
        format::time(total),
        format::time(longest)
    );
    let of = |says: &str, value: f64, unit: &str| {
        comparison.evidence(says, (value, None), unit, "spans").of(&[span::PROCESS_STOPPED])
    };
    Finding::new(Support::Observed, says)
        .with(of("stops of the whole process", stops.len() as f64, "count"))
        .with(of("their sum", total, "ns"))
        .with(of("the longest", longest, "ns"))
        .claiming(comparison, is_ours)
}

/// Whether the recorder checks for stops, and did so in the slow time: the JVM's own recorder may cover time before it.
fn was_looked_at(comparison: &Comparison<'_>) -> bool {
    let (from_ns, to_ns) = comparison.observed();
    let seen_ns = comparison.slow.time.within_ns(from_ns, to_ns) as f64;
    let looks = comparison.recording().fact(subject::RECORDING, recorded::PROCESS_STOP_LOOKS_NS);
    let was_there = !comparison.is_slow() || seen_ns >= MIN_COVERED_SHARE * comparison.slow.time.total_ns() as f64;
    looks.is_some() && was_there
}

/// Who stopped it, for people.
fn who(comparison: &Comparison<'_>) -> String {
    let name = |stop: &str| match stop {
        stopped::DEBUGGER => "a debugger (gdb, gcore, jstack -F)",
        stopped::FREEZER => "the freezer of its control group (docker pause, docker commit)",
        _ => "a signal (SIGSTOP, Ctrl-Z)",
    };
    let stops = comparison.slow.spans(span::PROCESS_STOPPED);
    let names: BTreeSet<&str> = stops.map(|stop| name(comparison.recording().text(stop.name))).collect();
    names.into_iter().collect::<Vec<_>>().join(" and ")
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Stopped(Stop::Process)
}
