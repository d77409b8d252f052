//! System calls of threads, with counts and times summed up in the kernel.

use std::collections::{BTreeMap, HashSet};

use fathom_evidence::kinds::counter;
use fathom_timeline::{Layer, Series, Sources, TRACES, ThreadState};

use crate::cause::Claim;
use crate::comparison::Comparison;
use crate::period::Period;

/// Calls that take from a socket.
pub const RECEIVE: &[&str] = &["recvfrom", "recvmsg", "recvmmsg", "read socket", "readv socket"];

/// Calls that give to a socket.
pub const SEND: &[&str] = &["sendto", "sendmsg", "sendmmsg", "write socket", "writev socket", "sendfile"];

/// Calls that wait until a socket has something.
pub const POLL: &[&str] = &["poll", "ppoll", "epoll_wait", "epoll_pwait", "select", "pselect6"];

/// Whether calls were counted in some of the slow time.
pub fn are_recorded(comparison: &Comparison<'_>) -> bool {
    let is_traced = |(from_ns, to_ns)| comparison.slow.time.touches(from_ns, to_ns);
    comparison.sources().has_counter(counter::SYSTEM_CALLS_COUNT)
        && traced_ns(comparison.sources()).is_none_or(is_traced)
}

/// From when to when calls were traced, if it is a tracer that counted them.
fn traced_ns(sources: &Sources<'_>) -> Option<(i64, i64)> {
    let recording = sources.recording;
    let name = recording.strings.find(counter::SYSTEM_CALLS_COUNT)?;
    let tracers = TRACES.map(|tracer| recording.strings.find(tracer));
    let rows = sources.counter_rows().find(|(known, _)| *known == name).map(|(_, rows)| rows)?;
    let times =
        rows.iter().map(|row| recording.counters.row(*row as usize)).filter(|row| tracers.contains(&Some(row.source)));
    times.fold(None, |range: Option<(i64, i64)>, row| {
        let (from_ns, to_ns) = range.unwrap_or((row.time_ns, row.time_ns));
        Some((from_ns.min(row.time_ns), to_ns.max(row.time_ns)))
    })
}

/// A measurement of calls in the slow time and in the baseline, each as far as calls were counted.
pub fn both<'c, T>(comparison: &'c Comparison<'_>, measure: impl Fn(&Period<'c>) -> T) -> (T, Option<T>) {
    let baseline = comparison.baseline_looked_at().as_ref().map(counted).filter(|period| !period.time.is_empty());
    (measure(&counted(&comparison.slow)), baseline.as_ref().map(measure))
}

/// A period as far as calls were counted.
fn counted<'c>(period: &Period<'c>) -> Period<'c> {
    period.clip(traced_ns(period.sources).unwrap_or((i64::MIN, i64::MAX)))
}

/// A counter of calls by thread, over the calls of some names.
#[derive(Debug, Default)]
pub struct ByThread(BTreeMap<i64, Vec<Series>>);

impl ByThread {
    /// One of the counters `system_calls_*` or `blocked_*` for the instances of these names.
    pub fn of(period: &Period<'_>, name: &str, instances: &[&str]) -> ByThread {
        ByThread::where_instance(period, name, |instance| instances.contains(&instance))
    }

    /// All calls.
    pub fn of_all_calls(period: &Period<'_>) -> ByThread {
        ByThread::where_instance(period, counter::SYSTEM_CALLS_COUNT, |_| true)
    }

    fn where_instance(period: &Period<'_>, name: &str, is_wanted: impl Fn(&str) -> bool) -> ByThread {
        let mut found = ByThread::default();
        for ((instance, tid), series) in period.sources.counters(name) {
            if is_wanted(period.sources.recording.text(instance)) && period.sources.is_application(tid) {
                found.0.entry(tid).or_default().push(series);
            }
        }
        found
    }

    /// By how much it rose in the time of a period, over the threads that `select` chooses.
    pub fn rise(&self, period: &Period<'_>, select: impl Fn(i64) -> bool) -> f64 {
        let series = self.0.iter().filter(|(tid, _)| select(**tid)).flat_map(|(_, series)| series);
        0.0 + series.map(|series| period.rise(series)).sum::<f64>()
    }

    fn total(&self, tid: i64) -> f64 {
        let series = self.0.get(&tid).map_or(&[][..], Vec::as_slice);
        series.iter().map(Series::total_rise).sum()
    }
}

/// Threads that take a good part of what the process receives in the recording: at least a tenth of the calls of the busiest one.
pub fn receivers(comparison: &Comparison<'_>) -> HashSet<i64> {
    let calls = ByThread::of(&comparison.slow, counter::SYSTEM_CALLS_COUNT, RECEIVE);
    with_a_good_part(&calls, |tid| calls.total(tid))
}

/// The same of a period's time only. What others received before (one that loads everything at the start, say) does not
/// count.
pub fn receivers_in(period: &Period<'_>) -> HashSet<i64> {
    let calls = ByThread::of(period, counter::SYSTEM_CALLS_COUNT, RECEIVE);
    with_a_good_part(&calls, |tid| calls.rise(period, |one| one == tid))
}

/// Threads that accept connections.
pub fn acceptors(comparison: &Comparison<'_>) -> HashSet<i64> {
    let calls = ByThread::of(&comparison.slow, counter::SYSTEM_CALLS_COUNT, &["accept", "accept4"]);
    with_a_good_part(&calls, |tid| calls.total(tid))
}

/// Compared with the busiest: of all calls none has a tenth where more than ten threads share them.
fn with_a_good_part(calls: &ByThread, count: impl Fn(i64) -> f64) -> HashSet<i64> {
    const MIN_SHARE_OF_BUSIEST: f64 = 0.1;
    let counts: Vec<(i64, f64)> = calls.0.keys().map(|tid| (*tid, count(*tid))).collect();
    let most = counts.iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let is_good = |count: f64| count > 0.0 && count >= MIN_SHARE_OF_BUSIEST * most;
    counts.into_iter().filter(|(_, count)| is_good(*count)).map(|(tid, _)| tid).collect()
}

/// How much a counter of calls rises each second of a period, over the application's threads, by call.
pub fn rates<'s>(period: &Period<'s>, name: &str) -> BTreeMap<&'s str, f64> {
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for ((call, tid), series) in period.sources.counters(name) {
        if period.sources.is_application(tid) {
            *rates.entry(period.sources.recording.text(call)).or_default() += period.rise(&series) / period.seconds();
        }
    }
    rates
}

/// Claims for what calls took: CPU samples see the whole of each, with the way into the kernel and back; the kernel's counters only what is
/// between.
pub fn cpu_claims(comparison: &Comparison<'_>, counted_ns: f64, sampled: Vec<Claim>) -> Vec<Claim> {
    let sampled_ns: f64 = sampled.iter().map(|claim| claim.grown_ns(comparison)).sum();
    if sampled_ns > counted_ns { sampled } else { running_claims(comparison, counted_ns) }
}

/// Claims for CPU time of the application with a known amount only: from the kernel's part first, then from the others, as
/// far as each grew. If it is not known how long threads ran, it is part of the unknown time.
pub fn running_claims(comparison: &Comparison<'_>, ns: f64) -> Vec<Claim> {
    const ORDER: [Layer; 5] = [Layer::Kernel, Layer::Native, Layer::Vm, Layer::Java, Layer::Interpreted];
    let (ran_ns, _) = comparison.excess().sums(|state| matches!(state, ThreadState::Running(_)));
    match comparison.baseline {
        Some(_) if ran_ns <= 0.0 => Claim::parts_in_order(comparison, &[ThreadState::Unknown], ns),
        _ => Claim::parts_in_order(comparison, &ORDER.map(ThreadState::Running), ns),
    }
}
