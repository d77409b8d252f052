//! Whether recorders looked: a cause that was not seen is excluded only if everything that shows it was recorded for the
//! slow time, with a low enough threshold, with the kind of frames it needs, by a recorder that ran. Causes declare what
//! that is; none can exclude itself.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, role, span};
use fathom_timeline::{BUCKET_NS, ThreadState};

use crate::cause::{Cause, Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::fields;
use crate::latency;
use crate::limits::{MIN_COVERED_SHARE, NEGLIGIBLE_SHARE};
use crate::measure::{faults, recording_threshold, stacks, system_gc, unsent};
use crate::need::Need;

/// What is missing for a cause to be excluded; nothing where all was recorded.
pub(crate) fn missing(comparison: &Comparison<'_>, cause: &Cause, finding: &Finding) -> Option<Missing> {
    let of_group = |group: &&[Need]| -> Option<Missing> {
        let lacking = group.iter().map(|need| lacking(comparison, need)).collect::<Option<Vec<Missing>>>()?;
        lacking.into_iter().next()
    };
    table_gone(comparison)
        .or_else(|| only_the_start(comparison))
        .or_else(|| unobserved(comparison).filter(|_| !is_seen_by_requests(cause)))
        .or_else(|| cause.needs.iter().find_map(of_group))
        .or_else(|| of_seen(comparison, finding))
}

/// What a need is not met for.
fn lacking(comparison: &Comparison<'_>, need: &Need) -> Option<Missing> {
    const WHICH: &str = "which one each was (names, stacks or details of what would show it) was not recorded";
    match is_recorded(*need, comparison) {
        true => (!fields::are_there(comparison, *need)).then(|| Missing::from_kernel(WHICH)),
        false => Some(short_calls(comparison, need).unwrap_or_else(|| missing_for(need))),
    }
}

/// Where system calls were recorded, and none as short as requests were late by.
fn short_calls(comparison: &Comparison<'_>, need: &Need) -> Option<Missing> {
    let Need::Spans(span::SYSTEM_CALL, collector) = need else { return None };
    comparison.has_source(collector).then(|| Missing {
        says: "requests were late by less than the shortest system call that is recorded".to_owned(),
        record_with: "sudo fathom record --pid PID --for 60s --system-call 1ms".to_owned(),
    })
}

/// What is missing to know that a mechanism that was seen was not felt.
fn of_seen(comparison: &Comparison<'_>, finding: &Finding) -> Option<Missing> {
    if !comparison.is_slow() || finding.support >= Support::Absent {
        return None;
    }
    of_cost(comparison, finding)
        .or_else(|| of_before(comparison, finding))
        .or_else(|| unfelt(comparison, finding))
        .or_else(|| unknown_loss(comparison))
}

/// Whether requests alone are enough to see or exclude a cause.
fn is_seen_by_requests(cause: &Cause) -> bool {
    cause.needs.iter().all(|group| group.iter().any(|need| matches!(need, Need::Requests)))
}

/// What is missing to know the cost of a mechanism that was seen: what was not measured is not small. CPU time is known if
/// the CPU of the process was read; which code used it is known if code was sampled.
fn of_cost(comparison: &Comparison<'_>, finding: &Finding) -> Option<Missing> {
    let is_measured = comparison.analysis.account.process_cpu_ns.is_some() && comparison.is_sampled();
    (!is_measured && is_of_running(finding)).then(|| Missing::from_kernel("the CPU that it took was not recorded"))
}

/// Whether what a mechanism takes is time on the CPUs.
fn is_of_running(finding: &Finding) -> bool {
    let runs =
        |claim: &Claim| matches!(claim.state, ThreadState::Running(_) | ThreadState::Runnable | ThreadState::Compiler);
    finding.claims.iter().any(runs) || finding.claims.is_empty() && finding.harm.is_none()
}

/// What is missing to know that there is no more of a mechanism than before. Where there is no time to compare with, work is taken as
/// it is, so that none of it grew.
fn of_before(comparison: &Comparison<'_>, finding: &Finding) -> Option<Missing> {
    let mut running = comparison.excess().states.iter().filter(|of| matches!(of.state, ThreadState::Running(_)));
    let is_unknown = running.any(|of| !of.is_baseline_known && of.slow_ns >= comparison.material_ns());
    (is_unknown && is_of_running(finding)).then(|| Missing {
        says: "how much the application ran when it was well, to compare with".to_owned(),
        record_with: "fathom explain … --baseline RECORDING".to_owned(),
    })
}

/// Where requests are not known, running and some waits are no lost time: how many of them requests felt is not known.
fn unfelt(comparison: &Comparison<'_>, finding: &Finding) -> Option<Missing> {
    let is_known = |claim: &&Claim| comparison.excess().of(claim.state).is_some_and(|excess| excess.counts);
    let of_others = finding.claims.iter().filter(|claim| !is_known(claim));
    let ns: f64 = of_others.map(|claim| claim.grown_ns(comparison)).sum();
    let is_exact = comparison.analysis.account.exact_requests().is_some();
    (!is_exact && ns > 0.0 && ns >= comparison.material_ns())
        .then(|| Missing::from_requests("whether requests waited for it, measured where clients wait"))
}

/// Where it is not known what requests waited for, a mechanism that was seen may be what it was.
fn unknown_loss(comparison: &Comparison<'_>) -> Option<Missing> {
    (unknown_share(comparison) >= NEGLIGIBLE_SHARE)
        .then(|| Missing::from_kernel("what all of the lost time was spent on was not recorded"))
}

/// The part of the lost time for which there is no record of what it was spent on.
fn unknown_share(comparison: &Comparison<'_>) -> f64 {
    let unknown = comparison.excess().of(ThreadState::Unknown).filter(|_| comparison.is_slow());
    let unknown_ns = unknown.map_or(0.0, |unknown| unknown.lost_ns());
    if unknown_ns > 0.0 { unknown_ns / comparison.excess().lost_ns() } else { 0.0 }
}

/// Where a part of the recording is gone it is not known what was in it.
fn table_gone(comparison: &Comparison<'_>) -> Option<Missing> {
    let recording = comparison.recording();
    let gone = recording.losses.rows().find(|row| recording.text(row.kind) == loss::MISSING)?;
    Some(Missing::from_kernel(recording.text(gone.says)))
}

/// In its first seconds a JVM does whatever it does, so that no signal of them is called slow: where nothing else was recorded, a
/// slow service was not looked for.
fn only_the_start(comparison: &Comparison<'_>) -> Option<Missing> {
    let is_all = comparison.analysis.account.startup.boot_buckets >= comparison.sources().grid.len;
    (is_all && !comparison.is_slow() && !latency::has_latency(comparison))
        .then(|| Missing::from_kernel("nothing but the first seconds of the JVM was recorded"))
}

/// Where requests were slow when nothing else was observed.
fn unobserved(comparison: &Comparison<'_>) -> Option<Missing> {
    let (from_ns, to_ns) = comparison.sources().observed_ns;
    let seen_ns = comparison.slow.time.within_ns(from_ns, to_ns);
    let is_unseen = comparison.is_slow() && 2 * seen_ns < comparison.slow.time.total_ns();
    is_unseen.then(|| Missing::from_kernel("nothing but requests was recorded in the slow period"))
}

fn is_recorded(need: Need, comparison: &Comparison<'_>) -> bool {
    /// Where more of the lost time is unknown, handlers without a thread of their own wait where no thread is seen to.
    const MAX_UNKNOWN_SHARE: f64 = 0.5;
    let has_spans = |kind: &str| comparison.sources().spans(kind).len() > 0;
    match need {
        Need::Collections => comparison.has_collections(),
        Need::Stops => {
            comparison.is_recorded("jdk.SafepointBegin")
                || [span::SAFEPOINT, span::TIME_TO_SAFEPOINT, span::VM_OPERATION].into_iter().any(has_spans)
        }
        Need::SystemGc => system_gc::are_recorded(comparison),
        Need::Event(event) => recording_threshold::has_short_ones(comparison, event),
        Need::Counter(name) => is_counted(comparison, name),
        Need::Spans(span::SAMPLED_WAIT, collector) => {
            (comparison.has_short_sampled_waits() || comparison.has_source(collector))
                && unknown_share(comparison) <= MAX_UNKNOWN_SHARE
        }
        Need::Spans(span::SYSTEM_CALL, collector) if comparison.has_source(collector) => {
            comparison.has_short_calls() && is_slow_time_covered(comparison, span::SYSTEM_CALL, collector)
        }
        Need::Spans(span::SYSTEM_CALL, _) => are_calls_recorded(comparison),
        Need::Spans(span::BLOCK_REQUEST, collector) => {
            let is_at_work = comparison.has_source(collector);
            is_at_work && is_slow_time_covered(comparison, span::BLOCK_REQUEST, collector)
                || are_block_requests_recorded(comparison)
        }
        Need::Spans(kind, collector) => {
            (has_spans(kind) || comparison.has_source(collector)) && is_slow_time_covered(comparison, kind, collector)
        }
        Need::PageFaults => {
            faults::are_recorded(comparison) && is_slow_time_covered(comparison, span::PAGE_FAULT, faults::COLLECTOR)
        }
        Need::Fact(about, key) => comparison.recording().fact(about, key).is_some(),
        Need::VmThreads => {
            let recording = comparison.recording();
            recording.threads.iter().any(|(_, thread)| recording.text(thread.role) == role::VM)
        }
        Need::Samples => comparison.is_sampled(),
        Need::KernelFrames => stacks::sees_the_kernel(comparison),
        Need::JvmFrames => comparison.is_sampled() && stacks::has_native_frames(comparison),
        Need::Sockets => unsent::was_measured(comparison),
        Need::Requests => comparison.sources().traffic.requests().next().is_some(),
    }
}

fn missing_for(need: &Need) -> Missing {
    let of_kernel = Missing::from_kernel;
    let of_jvm = |says: &str, record_with: &str| Missing { says: says.to_owned(), record_with: record_with.to_owned() };
    const LOG: &str = "-Xlog:gc*,safepoint*:file=gc.log:time,uptime,level,tags";
    match *need {
        Need::Collections => of_jvm("no collections were recorded", LOG),
        Need::Stops => of_jvm("stops were not recorded", LOG),
        Need::SystemGc => of_jvm("who requested collections was not recorded (JDK 17 and later do)", Missing::JFR),
        Need::Event(event) => recording_threshold::missing(event, &format!("short waits ({event}) were not recorded")),
        Need::Counter(name) => of_kernel(&format!("{name} was not recorded all the time")),
        Need::Spans(span::SAMPLED_WAIT, _) => {
            of_kernel("what threads waited for was not recorded, or not for most of the lost time")
        }
        Need::Spans(kind, _) => of_kernel(&format!("{kind} was not recorded")),
        Need::PageFaults => of_kernel("page faults with their duration and place were not recorded"),
        Need::Fact(_, key) => of_kernel(&format!("{key} was not recorded")),
        Need::VmThreads => of_kernel("which threads are the JVM's own was not recorded"),
        Need::Samples => of_jvm("what threads ran was not sampled in that time", Missing::JFR),
        Need::KernelFrames => of_kernel("the kernel's frames of what ran and waited were not recorded"),
        Need::JvmFrames => of_kernel("the JVM's own frames were not sampled"),
        Need::Sockets => of_kernel("how answers and questions left the machine was not recorded"),
        Need::Requests => of_jvm("how many requests came was not recorded", "fathom explain … --latency access.csv"),
    }
}

/// Whether a collector was at work for nearly all of the slow time. Who watches keeps the last minute of some collectors; all others begin
/// with the recording, when what it is about may be over.
fn is_slow_time_covered(comparison: &Comparison<'_>, kind: &str, collector: &str) -> bool {
    let (from_ns, to_ns) = comparison.observed();
    let rows_ns = || rows_ns(comparison, kind, collector);
    reaches_over(comparison, from_ns, to_ns)
        || rows_ns().is_some_and(|(first, last)| reaches_over(comparison, first.min(from_ns), last.max(to_ns)))
}

/// Whether nearly all of the slow time lies between two readings. A reading is up to a bucket late, which is much of a slow second: it is
/// allowed for as far as it is little of the slow time.
fn reaches_over(comparison: &Comparison<'_>, from_ns: i64, to_ns: i64) -> bool {
    let slow = &comparison.slow.time;
    let total_ns = slow.total_ns() as f64;
    let late_ns = BUCKET_NS.min(((1.0 - MIN_COVERED_SHARE) * total_ns) as i64);
    let seen_ns = slow.within_ns(from_ns.saturating_sub(late_ns), to_ns.saturating_add(late_ns));
    seen_ns as f64 >= MIN_COVERED_SHARE * total_ns
}

/// From when to when there are rows of a collector, or spans of the kind that it makes.
fn rows_ns(comparison: &Comparison<'_>, kind: &str, collector: &str) -> Option<(i64, i64)> {
    let Recording { strings, spans, counters, .. } = comparison.recording();
    let of_kind = comparison.sources().spans(kind).map(|span| (span.time_ns, span.end_ns()));
    let id = strings.find(collector);
    let own_spans = spans.rows().filter(|row| Some(row.source) == id).map(|row| (row.time_ns, row.end_ns()));
    let own_counters = counters.rows().filter(|row| Some(row.source) == id).map(|row| (row.time_ns, row.time_ns));
    of_kind.chain(own_spans).chain(own_counters).reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}

/// Whether system calls were looked at for nearly all of the slow time: who attaches strace does so for seconds.
fn are_calls_recorded(comparison: &Comparison<'_>) -> bool {
    let (calls, slow) = (comparison.sources().calls_looked_at(), &comparison.slow.time);
    !calls.is_empty() && calls.intersect(slow).total_ns() as f64 >= MIN_COVERED_SHARE * slow.total_ns() as f64
}

/// Whether requests to disks were looked at for nearly all of the slow time: who traces a disk does so for seconds.
fn are_block_requests_recorded(comparison: &Comparison<'_>) -> bool {
    let times = comparison.sources().spans(span::BLOCK_REQUEST).map(|request| (request.time_ns, request.end_ns()));
    let all = times.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
    let slow = &comparison.slow.time;
    all.is_some_and(|(from, to)| slow.within_ns(from, to) as f64 >= MIN_COVERED_SHARE * slow.total_ns() as f64)
}

/// Whether a counter was read for nearly all of the slow time: a row is written when its number changes, and when a look ends.
fn is_counted(comparison: &Comparison<'_>, name: &str) -> bool {
    let all = comparison.sources().counters(name).into_values().flat_map(|series| series.0);
    let times: Vec<i64> = all.map(|(time_ns, _)| time_ns).collect();
    let Some((first, last)) = times.iter().min().zip(times.iter().max()) else { return false };
    reaches_over(comparison, *first, *last)
}
