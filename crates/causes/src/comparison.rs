//! The input of a cause: the slow time and the baseline of a recording, side by side.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fathom_evidence::kinds::{event, frame, span, subject};
use fathom_evidence::{Frame, Recording, StackId, StrId};
use fathom_timeline::{
    Account, Analysis, BUCKET_NS, Excess, Intervals, Segment, SignalKind, Slowdown, Sources, StopSpan, ThreadState,
    Waiting, begins_with, median,
};

use crate::explanation::Evidence;
use crate::period::Period;
use crate::piece::Piece;
use crate::versions::major_version;

/// Lost time below this part of one thread is noise, whatever its share of the rest.
const MATERIAL_THREADS: f64 = 0.01;

/// Beginnings of the frames in which all threads park, whatever for.
const PARKING: &[&str] = &[
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
    "java.util.concurrent.locks.LockSupport.",
    "java.util.concurrent.locks.AbstractQueuedSynchronizer",
    "java.util.concurrent.ForkJoinPool.managedBlock",
    "java.util.concurrent.ForkJoinPool.unmanagedBlock",
];

/// A slowdown to be explained.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The account of time.
    pub analysis: &'a Analysis<'a>,
    /// What of it is slow in this comparison, and how that was found.
    pub slowdown: Slowdown,
    /// The slow time.
    pub slow: Period<'a>,
    /// The time it is compared with, if there is any.
    pub baseline: Option<Period<'a>>,
    excess: Excess,
    resolved: OnceCell<Vec<Waiting>>,
    /// The lost time, piece by piece, once it is made.
    pub(crate) pieces: OnceCell<Vec<Piece>>,
}

impl<'a> Comparison<'a> {
    /// The comparison of all slow time of an analysis.
    pub fn new(analysis: &'a Analysis<'a>) -> Comparison<'a> {
        Comparison::with(analysis, analysis.slowdown.clone(), analysis.excess.clone())
    }

    /// The comparison of some of the slow time.
    pub(crate) fn only(analysis: &'a Analysis<'a>, time: &Intervals) -> Comparison<'a> {
        let (slowdown, excess) = analysis.only(time);
        Comparison::with(analysis, slowdown, excess)
    }

    /// The comparison of time that is only suspected to be slow.
    pub(crate) fn with(analysis: &'a Analysis<'a>, slowdown: Slowdown, excess: Excess) -> Comparison<'a> {
        // Where nothing was slow the measurements are of everything, to say how well it is.
        let grid = analysis.sources.grid;
        let whole = || (Intervals::union(vec![(grid.start_ns, grid.end_ns())]), analysis.everything());
        let (slow_time, excess) = if slowdown.time.is_empty() { whole() } else { (slowdown.time.clone(), excess) };
        let baseline = analysis.baseline_time(&slowdown).map(|(sources, time)| {
            let is_same = std::ptr::eq(sources, &analysis.sources);
            let except = if is_same { analysis.slowdown.time.clone() } else { Intervals::default() };
            Period { sources, time, except }
        });
        let slow = Period::new(&analysis.sources, slow_time);
        Comparison { analysis, slowdown, slow, baseline, excess, resolved: OnceCell::new(), pieces: OnceCell::new() }
    }

    /// Whether anything was slow.
    pub fn is_slow(&self) -> bool {
        !self.slowdown.intervals.is_empty()
    }

    /// What the other sides did for which threads of the application waited in the slow time.
    pub(crate) fn resolved(&self) -> &[Waiting] {
        let resolve = || self.analysis.edges().resolve(&self.analysis.account.partition, &self.slow.time);
        self.resolved.get_or_init(resolve)
    }

    /// Waits of the application's threads in the slow time: thread, segment, and the name of what was waited for.
    pub(crate) fn slow_waits(&self) -> impl Iterator<Item = (i64, &Segment, StrId)> + '_ {
        waits_in(self.analysis, &self.slow.time)
    }

    /// Those of them that lie in one stretch of it, at least in part: thread and segment.
    pub(crate) fn slow_waits_in(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = (i64, &Segment)> + '_ {
        let waits = self.analysis.account.waits(&self.analysis.sources);
        // Most waits are elsewhere, and to compare two numbers is quicker than to look into a set.
        let here = waits.filter(move |(_, segment)| segment.from_ns < to_ns && segment.to_ns > from_ns);
        here.filter(|(_, segment)| self.slow.time.touches(segment.from_ns, segment.to_ns))
    }

    /// Waits of one kind by the name of what was waited for: how much there was in the slow time, and by how much that is
    /// more than in the baseline, in ns.
    pub(crate) fn grown_by_name(&self, state: ThreadState) -> BTreeMap<StrId, (f64, f64)> {
        // In order, so that sums over them are the same to the last digit each time.
        let mut sums: BTreeMap<StrId, (f64, f64)> = BTreeMap::new();
        for (_, segment, name) in self.slow_waits().filter(|(_, segment, _)| segment.state == state) {
            sums.entry(name).or_default().0 += segment.within_ns(&self.slow.time) as f64;
        }
        if let Some(baseline) = self.baseline_here() {
            let scale = self.slow.seconds() / baseline.seconds();
            for (_, segment, name) in waits_in(self.analysis, &baseline.time).filter(|(_, s, _)| s.state == state) {
                sums.entry(name).or_default().1 += segment.within_ns(&baseline.time) as f64 * scale;
            }
        }
        sums.into_iter().map(|(name, (slow, baseline))| (name, (slow, (slow - baseline).max(0.0)))).collect()
    }

    /// The baseline, where it is of the same recording: ids of names and stacks mean the same there.
    pub fn baseline_here(&self) -> Option<&Period<'a>> {
        self.baseline.as_ref().filter(|baseline| std::ptr::eq(baseline.sources, self.slow.sources))
    }

    /// The part of the baseline with records of the machine and the kernel: `fathom watch` keeps little of it.
    pub fn baseline_looked_at(&self) -> Option<Period<'a>> {
        self.baseline_within(|account| &account.observed)
    }

    /// The baseline as far as it was recorded what threads waited for.
    pub fn baseline_of_waits(&self) -> Option<Period<'a>> {
        self.baseline_within(|account| &account.waits_read)
    }

    fn baseline_within(&self, recorded: impl Fn(&Account) -> &Range<usize>) -> Option<Period<'a>> {
        let baseline = self.baseline.as_ref()?;
        let other = self.analysis.baseline_recording.as_ref();
        let account = other.map_or(&self.analysis.account, |other| &other.account);
        Some(baseline.clip(account.grid.time_of(recorded(account)))).filter(|baseline| !baseline.time.is_empty())
    }

    /// The part of the slow time for which it was recorded what threads waited for, in ns.
    pub fn waits_read_ns(&self) -> i64 {
        let (from_ns, to_ns) = self.sources().grid.time_of(&self.analysis.account.waits_read);
        self.slow.time.within_ns(from_ns, to_ns)
    }

    /// The recording in which it was slow.
    pub fn recording(&self) -> &'a Recording {
        self.analysis.sources.recording
    }

    /// That recording, prepared for questions.
    pub fn sources(&self) -> &'a Sources<'a> {
        &self.analysis.sources
    }

    /// What the slow time has more of.
    pub fn excess(&self) -> &Excess {
        &self.excess
    }

    /// How long an event of JFR had to last to be recorded, in ns; `None` when it was not recorded
    /// at all. An event without a threshold is recorded whatever its length.
    pub fn recorded_from_ns(&self, event: &str) -> Option<f64> {
        let setting = |name: &str| self.recording().fact(subject::SETTING, &format!("{event}#{name}"));
        (setting("enabled") == Some("true")).then(|| setting("threshold").and_then(period_ns).unwrap_or(0.0))
    }

    /// Whether an event of JFR was recorded.
    pub fn is_recorded(&self, event: &str) -> bool {
        self.recorded_from_ns(event).is_some()
    }

    /// Whether what threads ran was sampled in the slow time: without its stack a sample says that something ran.
    pub fn is_sampled(&self) -> bool {
        let mut samples = [event::CPU, event::EXECUTION].into_iter().flat_map(|event| self.slow.samples(event));
        samples.any(|sample| sample.stack_id != StackId(0))
    }

    /// Whether collections were recorded, whether or not there were any.
    pub fn has_collections(&self) -> bool {
        let seen = [span::GC_PAUSE, span::GC].iter().any(|kind| self.sources().spans(kind).len() > 0);
        seen || self.has_source("gc_log") || self.is_recorded("jdk.GarbageCollection")
    }

    /// From when until when a recorder looked at the running process, in whole buckets.
    pub fn observed(&self) -> (i64, i64) {
        self.sources().grid.time_of(&self.analysis.account.observed)
    }

    /// Whether any fact, span or counter came from `source`.
    pub fn has_source(&self, source: &str) -> bool {
        let recording = self.recording();
        let Some(id) = recording.strings.find(source) else { return false };
        recording.facts.source.contains(&id)
            || recording.spans.source.contains(&id)
            || recording.counters.source.contains(&id)
    }

    /// Major version of the JVM: 8, 11, 17, …
    pub fn jdk(&self) -> Option<u32> {
        major_version(self.recording().fact(subject::JVM, "version")?)
    }

    /// By how much a kind of time grew, in ns; 0 where it did not.
    pub fn grown_ns(&self, state: ThreadState) -> f64 {
        self.excess().of(state).map_or(0.0, |excess| excess.excess_ns().max(0.0))
    }

    /// Less of anything than this, in ns, is no more than noise.
    pub(crate) fn material_ns(&self) -> f64 {
        MATERIAL_THREADS * self.excess().slow_ns
    }

    /// Excess of the kinds of time that `select` chooses, as an average number of threads or cores.
    pub fn excess_threads(&self, select: impl Fn(ThreadState) -> bool) -> f64 {
        let (slow, baseline) = self.excess().sums(select);
        (slow - baseline) / self.excess().slow_ns.max(1.0)
    }

    /// Stops in the slow time, at least in part.
    pub fn slow_stops(&self) -> impl Iterator<Item = &'a StopSpan> + '_ {
        let is_slow = |stop: &&StopSpan| self.slow.time.touches(stop.from_ns, stop.to_ns);
        self.analysis.account.stops.iter().filter(is_slow)
    }

    /// Mean of a row of the account over the slow seconds, and over the baseline's if there are any.
    pub fn mean(&self, row: &[f64]) -> (f64, Option<f64>) {
        let (slow, baseline) = self.means(|index| row.get(index).copied());
        (slow.unwrap_or(0.0), baseline)
    }

    /// The same for a value that is not known in every second; each mean covers the seconds with a value.
    fn means(&self, of: impl Fn(usize) -> Option<f64>) -> (Option<f64>, Option<f64>) {
        let mean = |buckets: &mut dyn Iterator<Item = usize>| -> Option<f64> {
            let values: Vec<f64> = buckets.filter_map(&of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        (mean(&mut self.slowdown.slow_buckets()), mean(&mut self.slowdown.baseline_buckets()))
    }

    /// How long the slowest requests of each slow second (its 99th percentile) were later than usual, summed up; no
    /// second counts for more than itself, so that queues do not count. `None` if requests do not tell the slow time.
    pub fn requests_late_ns(&self) -> Option<f64> {
        let p99_ns = self.p99_ns()?;
        let usual_ns = self.usual_p99_ns().unwrap_or(0.0);
        let late = |p99_ns: f64| (p99_ns - usual_ns).clamp(0.0, BUCKET_NS as f64);
        let is_told = self.slowdown.signals.contains(&SignalKind::RequestLatency);
        is_told.then(|| self.slowdown.slow_buckets().filter_map(p99_ns).map(late).sum())
    }

    /// What 99 of 100 requests of a usual second stay below, in ns.
    pub fn usual_p99_ns(&self) -> Option<f64> {
        median(self.slowdown.baseline_buckets().filter_map(self.p99_ns()?).collect())
    }

    /// The 99th percentile of the requests of a second, in ns, by its number.
    fn p99_ns(&self) -> Option<impl Fn(usize) -> Option<f64>> {
        let p99_ns = &self.analysis.account.requests.as_ref()?.p99_ns;
        Some(|index: usize| p99_ns.get(index).copied().flatten())
    }

    /// Whether thread samples would show waits as short as the delay of late requests.
    pub fn has_short_sampled_waits(&self) -> bool {
        self.sources().shortest_sampled_wait_ns().is_some_and(|ns| self.would_show(ns as f64))
    }

    /// Whether the recorded system calls include ones as short as that.
    pub fn has_short_calls(&self) -> bool {
        let from_ns = self.recording().fact(subject::RECORDING, "system_call_threshold_ns");
        from_ns.and_then(|text| text.parse().ok()).is_none_or(|from_ns| self.would_show(from_ns))
    }

    /// Whether what makes requests late would be seen if it is recorded from such a length on. Shorter ones may be behind requests that
    /// are late by less than that, on average over the late ones. Without requests it is not known how long they are.
    fn would_show(&self, from_ns: f64) -> bool {
        let account = &self.analysis.account;
        let Some(late) = account.lateness.as_ref().filter(|_| account.exact_requests().is_some()) else { return true };
        let sum = |row: &[f64]| self.slowdown.slow_buckets().filter_map(|index| row.get(index)).sum::<f64>();
        let count = sum(&late.count);
        count <= 0.0 || from_ns <= sum(&late.each_ns) / count
    }

    /// Cores that other processes used, on average: in the slow time and in the baseline.
    pub fn cores_of_others(&self) -> Option<(f64, Option<f64>)> {
        let account = &self.analysis.account;
        let (machine, process, cpus) =
            (account.machine_ratio.as_ref()?, account.process_cpu_ns.as_ref()?, account.cpus?);
        let others = |(all, own): (&Option<f64>, &f64)| Some((all.as_ref()? * cpus - own / BUCKET_NS as f64).max(0.0));
        let others: Vec<Option<f64>> = machine.iter().zip(process).map(others).collect();
        let (slow, baseline) = self.means(|index| others.get(index).copied().flatten());
        Some((slow?, baseline))
    }

    /// Use of all CPUs of the machine: in the slow time and in the baseline.
    pub fn machine_use(&self) -> Option<(f64, Option<f64>)> {
        let ratio = self.analysis.account.machine_ratio.as_ref()?;
        let (slow, baseline) = self.means(|index| ratio.get(index).copied().flatten());
        Some((slow?, baseline))
    }

    /// Use of the CPUs that the JVM may use, by itself: in the slow time and in the baseline.
    pub fn process_use(&self) -> Option<(f64, Option<f64>)> {
        let account = &self.analysis.account;
        let (process, cpus) = account.process_cpu_ns.as_ref().zip(account.cpus)?;
        let (slow, baseline) = self.mean(process);
        let part = |ns: f64| ns / BUCKET_NS as f64 / cpus;
        Some((part(slow), baseline.map(part)))
    }

    /// A quantity of each period: slow, and baseline if there is a baseline.
    pub fn both(&self, measure: impl Fn(&Period<'_>) -> f64) -> (f64, Option<f64>) {
        (measure(&self.slow), self.baseline.as_ref().map(measure))
    }

    /// The same for values that are known only while the machine and the kernel are recorded.
    pub fn both_looked_at(&self, measure: impl Fn(&Period<'_>) -> f64) -> (f64, Option<f64>) {
        (measure(&self.slow), self.baseline_looked_at().as_ref().map(measure))
    }

    /// Set if there is a baseline but the value in it is unknown: it may always be this high.
    pub fn says_if_baseline_is_unknown<T>(&self, before: Option<T>) -> Option<&'static str> {
        (self.baseline.is_some() && before.is_none()).then_some("; how much it was in the baseline was not recorded")
    }

    /// First and last instant of the slow time.
    pub fn slow_range(&self) -> (i64, i64) {
        let first = self.slow.time.iter().next().map_or(0, |interval| interval.0);
        (first, self.slow.time.iter().last().map_or(0, |interval| interval.1))
    }

    /// A measurement over the slow time.
    pub fn evidence(&self, says: &str, (value, baseline): (f64, Option<f64>), unit: &str, table: &str) -> Evidence {
        let (from_ns, to_ns) = self.slow_range();
        let (says, unit, table) = (says.to_owned(), unit.to_owned(), table.to_owned());
        Evidence { says, value, baseline, unit, table, of: Vec::new(), from_ns, to_ns, stack: String::new() }
    }

    /// A kind of time as a measurement: average number of threads or cores.
    pub fn state_evidence(&self, says: &str, unit: &str, select: impl Fn(ThreadState) -> bool) -> Evidence {
        let (slow, baseline) = self.excess().sums(&select);
        let of_kinds = || self.excess().states.iter().filter(|excess| select(excess.state));
        let roles: BTreeSet<&str> = of_kinds().flat_map(|excess| excess.state.row().roles).copied().collect();
        let length = self.excess().slow_ns.max(1.0);
        let is_known = self.baseline.is_some() && of_kinds().all(|excess| excess.is_baseline_known);
        let baseline = is_known.then_some(baseline / length);
        self.evidence(says, (slow / length, baseline), unit, "account").of(&Vec::from_iter(roles))
    }

    /// A stack as text, leaf first, at most `depth` frames.
    pub fn stack_text(&self, stack: StackId, depth: usize) -> String {
        self.joined(self.recording().stacks.leaf_to_root(stack).take(depth))
    }

    /// The stack of a wait as text, from the innermost frame of Java on that says something: in the code below it all waits look alike.
    pub fn wait_text(&self, stack: StackId, depth: usize) -> String {
        let recording = self.recording();
        let is_below = |frame: &Frame| {
            matches!(recording.text(frame.kind), frame::KERNEL | frame::VM | frame::NATIVE)
                || begins_with(recording.text(frame.symbol), PARKING)
        };
        let text = self.joined(recording.stacks.leaf_to_root(stack).skip_while(is_below).take(depth));
        if text.is_empty() { self.stack_text(stack, depth) } else { text }
    }

    fn joined(&self, frames: impl Iterator<Item = Frame>) -> String {
        frames.map(|frame| self.recording().text(frame.symbol)).collect::<Vec<_>>().join(";")
    }

    /// Name of a thread.
    pub fn thread_name(&self, tid: i64) -> &'a str {
        self.recording().threads.get(tid).map_or("", |thread| self.recording().text(thread.name))
    }
}

/// The name of a thread without the number at its end, which is the same for all of a pool.
pub(crate) fn stem(name: &str) -> &str {
    name.trim_end_matches(|last: char| last.is_ascii_digit())
}

/// Waits of the application's threads that lie in some time, at least in part.
fn waits_in<'v>(
    analysis: &'v Analysis<'_>,
    time: &'v Intervals,
) -> impl Iterator<Item = (i64, &'v Segment, StrId)> + 'v {
    let recording = analysis.sources.recording;
    let name = |segment: &Segment| segment.row.map_or(StrId(0), |row| recording.spans.name[row as usize]);
    let waits = analysis.account.waits(&analysis.sources);
    let within = waits.filter(|(_, segment)| time.touches(segment.from_ns, segment.to_ns));
    within.map(move |(tid, segment)| (tid, segment, name(segment)))
}

/// A length of time as JFR writes it in settings: `20 ms`, `0 ns`, `1 s`.
fn period_ns(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), "ns"));
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}
