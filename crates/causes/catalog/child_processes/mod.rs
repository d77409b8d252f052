//! Threads wait for processes that they have started.

mod briefly;

use fathom_evidence::kinds::span;
use fathom_timeline::Wait;

use crate::measure::{recording_threshold, stacks, waits};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support};

pub(crate) static CAUSE: Cause = Cause {
    id: "child_processes",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Cause("application_code"), Refined::Cause("many_system_calls"), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["system_calls", "jfr"],
    needs: &[&[Need::Spans(span::SYSTEM_CALL, "system_calls"), Need::Event("jdk.FileRead")]],
    actions: &[
        "see what the child does for so long: run it by hand under perf trace or strace -f",
        "keep one child that answers many questions, or a library that does the same in the JVM",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let names = ("other processes", "a process");
    let rows = &[span::SYSTEM_CALL, span::FILE_READ, span::PARK, span::MONITOR_WAIT];
    let found = waits::finding(comparison, Wait::Process, names, "", rows);
    let found = match briefly::find(comparison) {
        Some(briefly) => Some(with_longer(comparison, briefly, found)),
        None => found,
    };
    found.map_or_else(|| none_seen(comparison), |found| with_code(comparison, found))
}

/// Starting a child, and taking note of its end, takes time of the process's own threads.
const STARTS_OR_ENDS: &[&str] = &["java.lang.ProcessBuilder.start", "java.lang.ProcessHandleImpl.waitForProcessExit0"];

fn with_code(comparison: &Comparison<'_>, mut found: Finding) -> Finding {
    let code = stacks::below(comparison, STARTS_OR_ENDS);
    if code.claims.is_empty() {
        return found;
    }
    let says = "part of the application's CPU that starts children and takes note of their ends";
    found.claims.extend(code.claims);
    found.with(comparison.evidence(says, code.share, "ratio", "samples").of(&[stacks::running_event(comparison)]))
}

/// Short waits for children, and longer ones, which are seen better, where these cost as much as matters.
fn with_longer(comparison: &Comparison<'_>, briefly: Finding, longer: Option<Finding>) -> Finding {
    let Some(mut longer) = longer.filter(|longer| longer.grown_ns(comparison) >= comparison.material_ns()) else {
        return briefly;
    };
    if briefly.support == Support::Consistent {
        longer.claims.extend(briefly.claims);
    }
    longer.with_all(briefly.evidence)
}

/// The kernel's collector sees each long read, the JVM those from its threshold on.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    match comparison.sources().spans(span::SYSTEM_CALL).len() {
        0 => recording_threshold::of_waits(comparison, &["jdk.FileRead"], "reads from other processes"),
        _ => Finding::absent("no long system call was a read from another process"),
    }
}
