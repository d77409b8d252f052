//! The application stands still while the JVM waits for the last thread to reach a safepoint.

use std::collections::HashMap;

use fathom_evidence::StackId;
use fathom_evidence::kinds::{counter, event, role, span};
use fathom_evidence::tables::Sample;
use fathom_timeline::{Intervals, Layer, Stop, StopSpan, ThreadState};

use crate::cause::Claim;
use crate::measure::collections::are_minor;
use crate::measure::cpu_shortage;
use crate::measure::safepoints::bare;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "long_time_to_safepoint",
    readme: include_str!("README.md"),
    family: Family::Safepoint,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Stops]],
    actions: &[
        "give the loop a safepoint poll: -XX:+UseCountedLoopSafepoints (default with G1 and ZGC), a long loop variable, or smaller array copies",
        "on JDK 17 and earlier also -XX:+SafepointTimeout -XX:SafepointTimeoutDelay=100 names the thread in the log",
    ],
    decide,
};

/// A wait that a request notices, in ns. Shorter ones are the ordinary price of safepoints.
const STALL_NS: i64 = 10_000_000;

/// Part of the waiting time for which more of the application ran than otherwise: then the late
/// thread did have a CPU.
const MIN_RUNNING_SHARE: f64 = 0.8;

/// Part of the waits that samples of the CPU must stand for when a thread ran in them: most, but sampling has its gaps.
const RAN_AT_LEAST: f64 = 0.5;

/// Minimum per-second correlation between waiting and running.
const MIN_CORRELATION: f64 = 0.8;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waits = waits(comparison);
    let longest = waits.iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    if !is_recorded(comparison) {
        return Finding::unknown("safepoints were not recorded", "-Xlog:safepoint*:file=gc.log:time,uptime,level,tags");
    }
    let stalls: Vec<(i64, i64)> = waits.into_iter().filter(|(from, to)| to.saturating_sub(*from) >= STALL_NS).collect();
    if stalls.is_empty() {
        let unmeasured = bare(comparison).iter().map(StopSpan::duration_ns).max().unwrap_or(0);
        if unmeasured >= STALL_NS {
            let says = format!(
                "a stop of {} that is no collection: the log does not say how long threads took to reach it",
                format::time(unmeasured as f64)
            );
            return Finding::unknown(
                &says,
                "-XX:+PrintSafepointStatistics -XX:PrintSafepointStatisticsCount=1 (JDK 8)",
            );
        }
        return Finding::absent(match longest {
            0 => "no wait for a safepoint as long as the recorder notes".to_owned(),
            _ => format!("longest wait for a safepoint {}", format::time(longest as f64)),
        });
    }
    let (was_running, was_off_the_cpu) = (was_running(comparison), was_off_the_cpu(comparison, &stalls));
    let culprit = culprit(comparison, &stalls, was_off_the_cpu);
    let is_starved = cpu_shortage(comparison).is_full();
    let had_cpu = was_running || (is_starved == Some(false) && !was_off_the_cpu);
    let lengths: Vec<(i64, i64)> = stalls.iter().map(|(from, to)| (*from, to.saturating_sub(*from))).collect();
    let support = match (had_cpu, is_starved) {
        (true, _) => Support::Observed,
        (false, None) if !are_minor(comparison, &lengths) => Support::Consistent,
        (false, _) => Support::Weak,
    };
    let mut finding = Finding::new(support, says(comparison, &stalls, culprit.as_ref(), had_cpu))
        .with_all(evidence(comparison, &stalls));
    finding.drill_down.threads.extend(culprit.as_ref().map(|culprit| culprit.tid));
    finding.evidence.extend(culprit.map(|culprit| culprit.evidence(comparison)));
    let mut finding = finding.claiming(comparison, is_ours);
    if was_running {
        finding.claims.extend(of_the_late_thread(comparison));
    }
    finding
}

/// While the others waited the late thread ran: as much running as there was waiting is its.
fn of_the_late_thread(comparison: &Comparison<'_>) -> Vec<Claim> {
    let (waited_ns, _) = comparison.excess().sums(is_ours);
    let at_most_ns = waited_ns / comparison.excess().concurrency.max(1.0);
    let running = comparison.excess().states.iter().filter(|excess| matches!(excess.state, ThreadState::Running(_)));
    let total_ns: f64 = running.clone().map(|excess| excess.lost_ns()).sum();
    let part = (at_most_ns / total_ns.max(f64::MIN_POSITIVE)).min(1.0);
    running.map(|excess| Claim::part(excess.state, excess.lost_ns() * part)).collect()
}

fn waits(comparison: &Comparison<'_>) -> Vec<(i64, i64)> {
    let waits = comparison.slow_stops().filter(|stop| stop.stop == Stop::TimeToSafepoint);
    waits.map(|stop| (stop.from_ns, stop.to_ns)).collect()
}

fn is_recorded(comparison: &Comparison<'_>) -> bool {
    let kinds = [span::SAFEPOINT, span::TIME_TO_SAFEPOINT];
    let sources = comparison.sources();
    kinds.iter().any(|kind| sources.spans(kind).len() > 0)
        || comparison.is_recorded("jdk.SafepointBegin")
        || sources.has_counter(counter::SAFEPOINT_SYNC_NS)
}

/// Whether the late thread had a CPU: the application used about as much more CPU as it waited,
/// and in the seconds in which it waited. A load that just varies does not follow the waits.
fn was_running(comparison: &Comparison<'_>) -> bool {
    let account = &comparison.analysis.account;
    let waited = comparison.excess_threads(is_ours) / comparison.excess().concurrency.max(1.0);
    let ran = comparison.excess_threads(|state| matches!(state, ThreadState::Running(_)));
    let skip = account.startup.warm_up_buckets;
    let waits = account.sum(is_ours);
    let running = account.sum(|state| matches!(state, ThreadState::Running(_)));
    ran >= MIN_RUNNING_SHARE * waited
        && correlation(waits.get(skip..).unwrap_or(&[]), running.get(skip..).unwrap_or(&[])) >= MIN_CORRELATION
}

/// Whether samples of the CPU say that the late thread did not run: one without a poll runs all the time, one that waits for a
/// page or for a CPU is nowhere or in the kernel.
fn was_off_the_cpu(comparison: &Comparison<'_>, stalls: &[(i64, i64)]) -> bool {
    let during = Intervals::union(stalls.to_vec());
    let is_running = |sample: &Sample| {
        comparison.sources().is_application(sample.tid)
            && Layer::of_stack(comparison.recording(), sample.stack_id) != Layer::Kernel
    };
    let (mut seen, mut ran_ns) = (false, 0.0);
    for sample in comparison.slow.samples(event::CPU) {
        seen = true;
        if during.contains(sample.time_ns) && is_running(&sample) {
            ran_ns += sample.weight_ns as f64;
        }
    }
    seen && ran_ns < RAN_AT_LEAST * during.total_ns() as f64
}

/// Pearson's correlation; 0 when either does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let mut sums = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (da, db) = (a - mean_a, b - mean_b);
        sums = (sums.0 + da * db, sums.1 + da * da, sums.2 + db * db);
    }
    if sums.1 > 0.0 && sums.2 > 0.0 { sums.0 / (sums.1 * sums.2).sqrt() } else { 0.0 }
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Stopped(Stop::TimeToSafepoint)
}

/// What ran while all others waited.
struct Culprit {
    tid: i64,
    thread: String,
    stack: String,
    share: f64,
}

impl Culprit {
    fn evidence(self, comparison: &Comparison<'_>) -> Evidence {
        let says = format!("samples during the waits that are in thread {}", self.thread);
        let share = comparison.evidence(&says, (self.share, None), "ratio", "samples");
        Evidence { stack: self.stack, ..share.of(&[event::CPU, event::EXECUTION, event::WALL]) }
    }
}

/// The thread and stack most often sampled while the others already stood still; a worker of the collector only where threads of
/// the application ran in less than half of that time: a stop waits for workers of some collectors as well, which may yield late.
fn culprit(comparison: &Comparison<'_>, stalls: &[(i64, i64)], was_off_the_cpu: bool) -> Option<Culprit> {
    let during = Intervals::union(stalls.to_vec());
    let may_be_late = |tid: i64| {
        let sources = comparison.sources();
        sources.is_application(tid) || (was_off_the_cpu && sources.role(tid) == role::GC)
    };
    let mut counts: HashMap<(i64, u32), usize> = HashMap::new();
    let mut total = 0;
    for kind in [event::CPU, event::EXECUTION, event::WALL] {
        for sample in comparison.slow.samples(kind).filter(|s| during.contains(s.time_ns) && may_be_late(s.tid)) {
            *counts.entry((sample.tid, sample.stack_id.0)).or_default() += 1;
            total += 1;
        }
        if total > 0 {
            break;
        }
    }
    let mut by_thread: HashMap<i64, usize> = HashMap::new();
    counts.iter().for_each(|((tid, _), count)| *by_thread.entry(*tid).or_default() += count);
    let (tid, samples) = by_thread.into_iter().max_by_key(|(tid, count)| (*count, *tid))?;
    let own = counts.into_iter().filter(|((owner, _), _)| *owner == tid);
    let ((_, stack), _) = own.max_by_key(|((_, stack), count)| (*count, *stack))?;
    let (thread, stack) = (comparison.thread_name(tid).to_owned(), comparison.stack_text(StackId(stack), 12));
    Some(Culprit { tid, thread, stack, share: samples as f64 / total as f64 })
}

fn says(comparison: &Comparison<'_>, stalls: &[(i64, i64)], culprit: Option<&Culprit>, had_cpu: bool) -> String {
    let total: f64 = stalls.iter().map(|(from, to)| to.saturating_sub(*from) as f64).sum();
    let longest = stalls.iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    let operations =
        comparison.slow_stops().filter(|stop| stop.stop != Stop::TimeToSafepoint).map(|stop| stop.duration_ns()).max();
    let mut text = format!(
        "{} of {} on average (longest {}) until the last thread reached its safepoint; the operations themselves took at most {}",
        format::count(stalls.len(), "stall"),
        format::time(total / stalls.len() as f64),
        format::time(longest as f64),
        format::time(operations.unwrap_or(0) as f64)
    );
    if let Some(culprit) = culprit.filter(|culprit| culprit.share >= 0.5) {
        text += &format!("; late: {} in {}", culprit.thread, culprit.stack.split(';').next().unwrap_or(""));
        if !comparison.sources().is_application(culprit.tid) {
            text += ", a worker of the collector: no loop of the application";
        }
    }
    if !had_cpu {
        text += "; a thread that waits for a CPU, or for a page of memory, looks the same";
        text += &comparison
            .machine_use()
            .map_or(String::new(), |(ratio, _)| format!(", and the CPUs were {} in use", format::percent(ratio)));
    }
    text
}

fn evidence(comparison: &Comparison<'_>, stalls: &[(i64, i64)]) -> Vec<Evidence> {
    let total: f64 = stalls.iter().map(|(from, to)| to.saturating_sub(*from) as f64).sum();
    let longest = stalls.iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    vec![
        comparison
            .evidence("waits for a safepoint of 10 ms and more", (stalls.len() as f64, None), "count", "spans")
            .of(&[span::TIME_TO_SAFEPOINT]),
        comparison.evidence("their sum", (total, None), "ns", "spans").of(&[span::TIME_TO_SAFEPOINT]),
        comparison.evidence("the longest", (longest as f64, None), "ns", "spans").of(&[span::TIME_TO_SAFEPOINT]),
    ]
}
