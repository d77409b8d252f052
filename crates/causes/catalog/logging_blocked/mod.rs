//! Threads wait until log lines are written: for the appender's lock, its queue, or the write itself.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Blocked, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{ThreadState, Wait, Waiting, is_below, telling_frame};

use crate::cause::Claim;
use crate::measure::waits_below::{self, WaitsBelow};
use crate::measure::{cpu_shortage, growth, recording_threshold};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "logging_blocked",
    readme: include_str!("README.md"),
    family: Family::Files,
    refines: &[Refined::Cause("lock_contention"), Refined::Cause("file_sync_slow"), Refined::Family(Family::Device)],
    equals: &[
        waits_below::EQUALS,
        (
            &["accept_queue_overflow", "connection_pool_exhausted", "dns_slow"],
            "requests were late while no thread was seen to wait: each claims as much as it measured itself",
        ),
    ],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[
        &[Need::Event("jdk.JavaMonitorEnter"), Need::Spans(span::SAMPLED_WAIT, "waits")],
        &[Need::Event("jdk.ThreadPark"), Need::Spans(span::SAMPLED_WAIT, "waits")],
    ],
    actions: &[
        "an asynchronous appender that drops lines when its queue is full (logback: neverBlock; log4j: AsyncQueueFullPolicy=Discard)",
        "make the reader of the pipe quicker (a container's log driver: mode=non-blocking), or log to a disk of its own",
        "log less: at most one line per request, bodies and stack traces only where they are needed",
    ],
    decide,
};

/// Beginnings of the methods of logging libraries and of the standard output.
const LOGGING: &[&str] = &[
    "ch.qos.logback.",
    "org.apache.logging.log4j.core.",
    "org.apache.log4j.",
    "java.util.logging.",
    "org.apache.juli.",
    "org.jboss.logmanager.",
    "org.tinylog.",
    "org.slf4j.simple.",
    "java.io.PrintStream.",
];

/// Where so much of the waiting is for room in a queue, the queue is what others wait for.
const MIN_FULL_SHARE: f64 = 0.5;

/// When something is being written for less of the time in which others wait, they wait for what the library does itself.
const MIN_WRITING_SHARE: f64 = 0.5;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let (slow, baseline) = waits_below::both(comparison, |period| WaitsBelow::of_names(period, LOGGING));
    let Some(longest) = slow.longest() else {
        let events = &["jdk.JavaMonitorEnter", "jdk.ThreadPark", "jdk.FileWrite"];
        return recording_threshold::of_waits(comparison, events, "waits for a log");
    };
    let threads = (slow.threads(), baseline.as_ref().map(WaitsBelow::threads));
    let writing = writing_share(comparison, &slow);
    let is_full = full_share(comparison, &slow) >= MIN_FULL_SHARE;
    let text = says(comparison, &slow, threads, (is_full, writing));
    let waiting = comparison.evidence("threads waiting for the log", threads, "threads", "spans").of(&[
        span::MONITOR_ENTER,
        span::PARK,
        span::FILE_WRITE,
    ]);
    let waiting = Evidence { stack: comparison.stack_text(longest.stack_id, 12), ..waiting };
    if !growth::grew(threads) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(waiting);
    }
    // Without a write under way the lock is held for something else: to format, or because the holder has no CPU.
    let is_behind = is_full || writing >= MIN_WRITING_SHARE;
    let is_written = is_behind && cpu_shortage(comparison).by_others.is_none();
    let support = if is_written { Support::Observed } else { Support::Weak };
    let part = (writing, None);
    let mut finding =
        Finding::new(support, text).with(waiting).with(
            comparison
                .evidence("part of the waits in which something was being written", part, "ratio", "spans")
                .of(&[span::FILE_WRITE, span::SYSTEM_CALL, span::SOCKET_WRITE]),
        );
    finding.claims = slow.claims();
    let is_unknown = comparison.excess().of(ThreadState::Unknown).is_some_and(|unknown| unknown.lost_ns() > 0.0);
    let may_be_others = is_unknown && recording_threshold::has_virtual_threads(comparison);
    if is_written && may_be_others && !slow.for_others.is_empty() {
        // Virtual threads have left their carriers: that they wait for the same is not recorded.
        let written_ns = slow.data_time().intersect(&comparison.slow.time).total_ns() as f64;
        finding.claims.push(Claim::part(ThreadState::Unknown, written_ns));
        finding.support = Support::Consistent;
    }
    finding
}

/// The part of the waiting for others in which some line was being written; all of it where each waited for its own.
fn writing_share(comparison: &Comparison<'_>, waits: &WaitsBelow) -> f64 {
    let written = waits.data_time();
    let of = |waits: &[Span]| waits.iter().map(|wait| wait.duration_ns.max(0) as f64).sum::<f64>();
    let while_written = waits.for_others.iter().map(|wait| written.within_ns(wait.time_ns, wait.end_ns()) as f64);
    let (own, all) = (of(&waits.for_data), of(&waits.for_others));
    (own + while_written.sum::<f64>().max(held_in_a_write(comparison))) / (own + all).max(1.0)
}

/// The waiting for a lock of the log whose holder stood in a write just then, in ns: that this is a line of the log the write does not say where
/// its stack is cut.
fn held_in_a_write(comparison: &Comparison<'_>) -> f64 {
    let recording = comparison.recording();
    let row = |row: u32| recording.spans.row(row as usize);
    let is_for_the_log = |waiting: &&Waiting| {
        waiting.wait == Wait::Lock && waiting.row.is_some_and(|of| is_below(recording, row(of).stack_id, LOGGING))
    };
    let held = comparison.resolved().iter().filter(is_for_the_log);
    let written = held.filter(|waiting| {
        let root = waiting.root.and_then(|root| root.segment.row);
        root.is_some_and(|root| is_write(recording, &row(root)))
    });
    0.0 + written.map(|waiting| waiting.waiting_ns).sum::<f64>()
}

fn is_write(recording: &Recording, wait: &Span) -> bool {
    const CALLS: &[&str] = &["write", "writev", "pwrite64", "pwritev"];
    let detail: Blocked = from_text(recording.text(wait.detail));
    match recording.text(wait.kind) {
        span::SYSTEM_CALL => CALLS.contains(&recording.text(wait.name)),
        span::SAMPLED_WAIT => waits_below::is_at_a_file(recording, wait),
        span::BLOCKED => detail.system_call.is_some_and(|call| CALLS.contains(&call.as_str())),
        kind => matches!(kind, span::FILE_WRITE | span::SOCKET_WRITE),
    }
}

/// The part of the waiting for others that is for room in a full queue.
fn full_share(comparison: &Comparison<'_>, waits: &WaitsBelow) -> f64 {
    let length = |wait: &Span| wait.duration_ns.max(0) as f64;
    let for_room = waits.for_others.iter().filter(|wait| is_for_room(comparison.recording(), wait));
    for_room.map(length).sum::<f64>() / waits.for_others.iter().map(length).sum::<f64>().max(1.0)
}

/// Whether a thread waits until a queue of the JDK has room: the thread that takes from it has fallen behind, for any reason.
fn is_for_room(recording: &Recording, wait: &Span) -> bool {
    let queue = telling_frame(recording, wait.stack_id).and_then(|frame| frame.strip_prefix("java.util.concurrent."));
    let method = queue.and_then(|frame| frame.split_once('.')).map(|(_, method)| method);
    method.is_some_and(|method| method.starts_with("put") || method.starts_with("transfer"))
}

fn says(
    comparison: &Comparison<'_>,
    waits: &WaitsBelow,
    threads: (f64, Option<f64>),
    (is_full, writing): (bool, f64),
) -> String {
    let longest = waits.longest().map_or(0, |wait| wait.duration_ns);
    let whom = if is_full { "for room in a full queue" } else { "for others that log" };
    let place = match waits.most(comparison.recording()).as_deref() {
        None => "; no thread was seen writing".to_owned(),
        Some("") => {
            format!("; {} of it while something was written to a pipe or the standard output", format::percent(writing))
        }
        Some(name) => format!("; {} of it while something was written to {name}", format::percent(writing)),
    };
    let is_look = |wait: &Span| waits_below::is_look(comparison.recording(), wait);
    let writes = match waits.for_data.iter().any(is_look) {
        true => "the write itself seen by samples".to_owned(),
        false => format!("{} for the write itself", format::count(waits.for_data.len(), "wait")),
    };
    format!(
        "{} threads wait for the log on average{}: {} {whom}, {writes}, the longest {}{place}",
        format::number(threads.0),
        format::baseline(threads.1, format::number),
        format::count(waits.for_others.len(), "wait"),
        format::time(longest as f64)
    )
}
