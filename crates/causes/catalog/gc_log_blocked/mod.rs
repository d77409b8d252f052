//! The JVM writes its log at a safepoint, and the write waits for a disk or for a reader.

use fathom_evidence::detail::SystemCall;
use fathom_evidence::kinds::{role, span, subject};
use fathom_evidence::tables::Span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::stalled_threads;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "gc_log_blocked",
    readme: include_str!("README.md"),
    family: Family::Files,
    refines: &[
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Device),
    ],
    equals: &[(
        &["file_sync_slow", "perf_data_writeback", "swap_in"],
        "a thread is in one wait at a time, and each claims the stops in which it was in its own",
    )],
    has_lab: true,
    collectors: &["system_calls"],
    needs: &[&[Need::Spans(span::SYSTEM_CALL, "system_calls")], &[Need::VmThreads]],
    actions: &["-Xlog:async (JDK 17 and later), or the log on another disk or in memory"],
    decide,
};

/// Calls that write.
const WRITES: &[&str] = &["write", "writev", "pwrite64", "pwritev", "pwritev2", "fsync", "fdatasync"];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let is_traced = comparison.has_source("system_calls") || comparison.sources().spans(span::SYSTEM_CALL).len() > 0;
    let kind = if is_traced { span::SYSTEM_CALL } else { span::VM_THREAD_WRITE };
    let writes: Vec<Span> = writes(comparison, kind);
    let Some(longest) = writes.iter().max_by_key(|call| call.duration_ns) else {
        let none = Finding::absent("no slow write by the VM thread or the collector");
        return if is_traced { none } else { Finding::needs_kernel("system calls were not recorded") };
    };
    let path = path(comparison, longest);
    let is_log = is_log(comparison, &path);
    let total: f64 = writes.iter().map(|call| call.duration_ns.max(0) as f64).sum();
    let text = format!(
        "the {} waited in {}, {} in all, the longest {} for {path}{}",
        comparison.thread_name(longest.tid),
        format::count(writes.len(), "slow write"),
        format::time(total),
        format::time(longest.duration_ns as f64),
        if is_log { "" } else { ", which need not be its log" }
    );
    let support = if is_log { Support::Observed } else { Support::Consistent };
    let mut finding = Finding::new(support, text);
    let per_second = (total / comparison.slow.seconds(), None);
    finding = finding
        .with(comparison.evidence("time in such writes", per_second, "ns/s", "spans").of(&[kind]))
        .with_stacks_of(&format!("spans/{kind}"));
    // Other threads of the JVM stand in calls as well, and longer.
    finding.drill_down.roles.push(comparison.sources().role(longest.tid).to_owned());
    finding.drill_down.search = comparison.stack_text(longest.stack_id, 1);
    finding.claims = stalled_threads::claims(comparison, writes.iter(), ThreadState::Blocked(Wait::File));
    finding
}

/// Slow writes of the threads that do the work of stops.
fn writes(comparison: &Comparison<'_>, kind: &str) -> Vec<Span> {
    let is_write = |call: &Span| WRITES.contains(&comparison.recording().text(call.name));
    comparison.slow.spans(kind).filter(|call| is_write(call) && works_in_stops(comparison, call.tid)).collect()
}

fn path(comparison: &Comparison<'_>, call: &Span) -> String {
    comparison.slow.detail::<SystemCall>(call).path.unwrap_or_else(|| "an unknown file".to_owned())
}

/// Whether the JVM was configured to log there. Its output counts as well if the log goes there.
fn is_log(comparison: &Comparison<'_>, path: &str) -> bool {
    let arguments = comparison.recording().fact(subject::JVM, "arguments").unwrap_or("");
    let logs = arguments
        .split_whitespace()
        .filter(|argument| argument.starts_with("-Xlog") || argument.starts_with("-Xloggc"));
    let name = path.rsplit('/').next().unwrap_or(path);
    let (mut to_file, mut any) = (false, false);
    for log in logs {
        any = true;
        to_file |= !name.is_empty() && log.contains(name);
    }
    to_file || (any && (path.starts_with("pipe:") || path.starts_with("/dev/")))
}

/// Whether a thread does the work of stops.
fn works_in_stops(comparison: &Comparison<'_>, tid: i64) -> bool {
    comparison.sources().role(tid) == role::GC || comparison.thread_name(tid) == "VM Thread"
}
