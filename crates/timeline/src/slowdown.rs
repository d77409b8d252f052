//! When the service was slow, and which seconds to compare that with.

mod baseline;
mod gaps;
mod regimes;
mod suspected;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::account::Account;
use crate::grid::{BUCKET_NS, Grid};
use crate::intervals::Intervals;
use crate::median::median;
use crate::requests::Requests;
use crate::requests::quality::Flaw;
use crate::signals::{self, Signal, SignalKind, Smoothed, runs};
use crate::sources::Sources;
use crate::states::{Layer, Origin, Scope, ThreadState};
use crate::suspicion;
use baseline::{BASELINE_MIN_BUCKETS, around, baseline, near};
pub(crate) use regimes::Regime;
pub(crate) use suspected::{suspect, suspect_service};

/// Slow stretches closer than this belong together, in buckets.
const JOIN_BUCKETS: usize = 3;

/// What the buckets of the baseline have.
#[derive(Debug, Default)]
pub(crate) struct BaselineMeans {
    /// What one has of each kind of time, in ns, however many threads it stopped; none of a kind that is known of none.
    pub(crate) ns: BTreeMap<ThreadState, f64>,
    /// How far such a mean may be off by chance, as a variance in ns²; none of a kind that is measured.
    pub(crate) variance: BTreeMap<ThreadState, f64>,
    /// How many there are.
    pub(crate) buckets: usize,
}

/// What is known beforehand.
#[derive(Debug, Default, Clone, Copy)]
pub struct SlowdownOptions<'a> {
    /// When it was slow, if a person says so.
    pub slow: Option<(i64, i64)>,
    /// How high each signal is as a rule in a recording in which the service was well.
    pub levels: &'a [(SignalKind, f64)],
}

/// A stretch of time in which the service was slow.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowInterval {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// The signal that shows it best.
    pub signal: SignalKind,
    /// Worst value of that signal in it, in the signal's unit; of a latency the worst that a second had.
    pub worst: f64,
}

/// Slow and baseline time.
#[derive(Debug, Clone, Default)]
pub struct Slowdown {
    /// The slow stretches, in order.
    pub intervals: Vec<SlowInterval>,
    /// Which buckets are slow, at least in part.
    pub slow: Vec<bool>,
    /// The slow time itself: whole buckets where it was found, exactly what was said where a person said so.
    pub time: Intervals,
    /// Which buckets are the baseline; none when everything was slow.
    pub baseline: Vec<bool>,
    /// Whether each slow stretch is compared with the baseline near it.
    pub is_near: bool,
    /// All slow buckets and those of the baseline lie in here: a recording of days has thousands of slow stretches, and each is looked
    /// at for itself. None for everywhere.
    pub(crate) reach: Option<Range<usize>>,
    /// For each slow stretch, in which of several times it was that have little in common: what is usual in one tells nothing of
    /// another.
    pub regimes: Vec<usize>,
    /// What those have of each kind of time; made when it is first asked for, as each part of the slow time has the same.
    pub(crate) baseline_means: Arc<OnceLock<BaselineMeans>>,
    /// Whether the CPU use of the process was measured.
    pub(crate) is_cpu_measured: bool,
    /// Signals that detected slow seconds.
    pub signals: Vec<SignalKind>,
    /// Every signal with its highest value after start-up, for "nothing was slow".
    pub highest: Vec<(SignalKind, f64)>,
    /// The signals that detected slow seconds over time, to be looked at.
    pub detected: Vec<TriggeredSignal>,
}

/// A signal that detected slow seconds, over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggeredSignal {
    /// Which one.
    pub kind: SignalKind,
    /// Its value in each bucket; NaN where nothing was recorded.
    pub values: Vec<f64>,
    /// From this value a second is slow.
    pub threshold: f64,
}

impl Slowdown {
    /// Indexes of the slow buckets.
    pub fn slow_buckets(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.marked(&self.slow)
    }

    /// The slow buckets with the part of each that is slow, each once: two slow stretches may touch the same one.
    pub(crate) fn slow_parts(&self, grid: Grid) -> Vec<(usize, f64)> {
        let mut slow_ns: BTreeMap<usize, i64> = BTreeMap::new();
        for (from_ns, to_ns) in self.time.iter() {
            for index in grid.buckets_of(from_ns, to_ns) {
                let (starts_ns, ends_ns) = (grid.start_of(index), grid.start_of(index + 1));
                *slow_ns.entry(index).or_default() += to_ns.min(ends_ns).saturating_sub(from_ns.max(starts_ns));
            }
        }
        slow_ns.into_iter().map(|(index, ns)| (index, ns as f64 / BUCKET_NS as f64)).collect()
    }

    /// The same slowdown with some of its slow time only: one of its intervals, say.
    #[must_use]
    pub(crate) fn only(&self, grid: Grid, time: &Intervals) -> Slowdown {
        let mut slow = vec![false; self.slow.len()];
        for index in time.iter().flat_map(|(from_ns, to_ns)| grid.buckets_of(from_ns, to_ns)) {
            slow[index] = self.slow[index];
        }
        let is_in = |interval: &&SlowInterval| time.touches(interval.from_ns, interval.to_ns);
        let (intervals, regimes): (Vec<SlowInterval>, Vec<usize>) = self
            .intervals
            .iter()
            .cloned()
            .zip(self.regimes.iter().copied())
            .filter(|(interval, _)| is_in(&interval))
            .unzip();
        let baseline = if self.is_near { near(grid, &self.baseline, &intervals) } else { None };
        let all = || intervals.iter().map(|interval| around(grid, interval));
        let reach = all().map(|one| one.start).min().zip(all().map(|one| one.end).max());
        let reach = reach.filter(|_| baseline.is_some()).map(|(from, to)| from..to);
        Slowdown {
            slow,
            time: self.time.intersect(time),
            baseline_means: if baseline.is_some() { Arc::default() } else { Arc::clone(&self.baseline_means) },
            baseline: baseline.unwrap_or_else(|| self.baseline.clone()),
            is_near: self.is_near,
            reach,
            regimes,
            intervals,
            is_cpu_measured: self.is_cpu_measured,
            signals: self.signals.clone(),
            highest: self.highest.clone(),
            // Hours of them, which are the same whatever part is asked about.
            detected: Vec::new(),
        }
    }

    /// The same, where each slow stretch is compared with the baseline near it, if those are enough everywhere.
    fn by_the_time(mut self, grid: Grid) -> Slowdown {
        let Some(near) = near(grid, &self.baseline, &self.intervals) else { return self };
        let Some(regimes) = regimes::of(grid, &near, &self.intervals) else { return self };
        (self.baseline, self.regimes, self.is_near) = (near, regimes, true);
        self
    }

    /// Indexes of the baseline buckets.
    pub fn baseline_buckets(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.marked(&self.baseline)
    }

    fn marked<'m>(&self, buckets: &'m [bool]) -> impl Iterator<Item = usize> + Clone + 'm {
        let reach = self.reach.clone().unwrap_or(0..buckets.len());
        let first = reach.start.min(buckets.len());
        let within = &buckets[first..reach.end.clamp(first, buckets.len())];
        within.iter().enumerate().filter(|(_, is)| **is).map(move |(index, _)| first + index)
    }

    /// Whether time of this kind is lost time in this slowdown. Waiting and standing still always
    /// are. Running is work: it counts when the signal says that there was too much of it. What the collector runs of its
    /// own accord is taken from the application where it is known how much CPU there was to take; a log has stops only. What a
    /// collection runs that stops the application is in its stop.
    pub fn counts(&self, state: ThreadState) -> bool {
        let is_any_work = self.signals.iter().any(|signal| !signal.is_loss());
        let is_compiling =
            || self.signals.iter().any(|s| matches!(s, SignalKind::Recompiling | SignalKind::Interpreting));
        let is_suspected = self.signals.contains(&SignalKind::BelowJava) && state.is_below_java();
        match state {
            _ if is_suspected => true,
            ThreadState::Stopped(_)
            | ThreadState::Blocked(_)
            | ThreadState::Runnable
            | ThreadState::Stolen
            | ThreadState::Unsent(_) => true,
            ThreadState::Collector(collection) => {
                let is_asked_for = matches!(collection.origin, Origin::Explicit | Origin::CodeCache);
                let is_beside = !matches!(collection.scope, Scope::Young | Scope::Full);
                self.is_cpu_measured || is_any_work || is_asked_for && is_beside
            }
            ThreadState::Unknown => true,
            ThreadState::Idle => false,
            ThreadState::Compiler | ThreadState::Running(Layer::Interpreted) => is_any_work || is_compiling(),
            ThreadState::Running(_) | ThreadState::Vm => is_any_work,
        }
    }

    /// Slow from one time to another, which need not be those of buckets.
    fn exactly(self, from_ns: i64, to_ns: i64) -> Slowdown {
        let cut = |interval: &SlowInterval| SlowInterval {
            from_ns: interval.from_ns.max(from_ns),
            to_ns: interval.to_ns.min(to_ns),
            ..interval.clone()
        };
        let intervals = self.intervals.iter().map(cut).collect();
        Slowdown { time: self.time.clip(from_ns, to_ns), intervals, ..self }
    }
}

/// A signal with the buckets that it calls slow.
struct Detection {
    signal: Signal,
    slow: Vec<bool>,
    threshold: f64,
}

impl Detection {
    /// A signal that is higher for long. The first and the last of its seconds may be so only by those beside them.
    fn of_lasting(account: &Account, Smoothed { signal, single }: Smoothed) -> Option<Detection> {
        let (mut slow, threshold) = signals::lasting::find(&signal, account.startup.warm_up_buckets)?;
        for (start, end) in runs(&slow) {
            let ends = [start, start + 1, end - 2, end - 1];
            ends.into_iter().filter(|index| single[*index] < threshold).for_each(|index| slow[index] = false);
        }
        Some(Detection { signal, slow, threshold })
    }

    /// How many threads are lost in the slow seconds, in all; of what is not counted in threads none.
    fn lost_threads(&self) -> f64 {
        let slow = self.signal.values.iter().zip(&self.slow).filter(|(_, slow)| **slow);
        if self.signal.unit_is_threads() { slow.map(|(value, _)| value).sum() } else { 0.0 }
    }
}

impl From<Detection> for TriggeredSignal {
    fn from(detected: Detection) -> TriggeredSignal {
        TriggeredSignal { kind: detected.signal.kind, values: detected.signal.values, threshold: detected.threshold }
    }
}

/// Finds the slow and the baseline seconds.
pub(crate) fn find(sources: &Sources<'_>, account: &Account, options: &SlowdownOptions<'_>) -> Slowdown {
    let (highest, found) = found(sources, account, options);
    let Some((from_ns, to_ns)) = options.slow else { return Slowdown { highest, ..together(account, found, &[]) } };
    // What is slow by itself is no baseline for what a person asks about; nor is what may be.
    let suspected = suspicion::signal(sources, account).map(|signal| detect(signal, account, None));
    let others: Vec<Detection> = found.into_iter().chain(suspected).collect();
    let slowdown = together(account, vec![given(account, (from_ns, to_ns))], &others);
    Slowdown { highest, ..slowdown }.exactly(from_ns, to_ns)
}

type Highest = Vec<(SignalKind, f64)>;

/// The highest value of each signal, and what it tells.
fn found(sources: &Sources<'_>, account: &Account, options: &SlowdownOptions<'_>) -> (Highest, Vec<Detection>) {
    let all: Vec<Signal> = signals::all(sources, account);
    let highest = all.iter().map(|signal| {
        let measured = signals::latency::highest(account, signal.kind, 0..signal.values.len());
        (signal.kind, measured.unwrap_or_else(|| signal.highest()))
    });
    let highest = highest.collect();
    let level = |kind| options.levels.iter().find(|(known, _)| *known == kind).map(|(_, level)| *level);
    let detected = all.into_iter().map(|signal| (level(signal.kind), signal));
    let detected = detected.map(|(level, signal)| detect(signal, account, level)).collect();
    let found = as_requests_felt(account, beside_larger_ones(account, detected, options));
    (highest, or_longer_for_long(account, or_rare_requests(sources, account, found)))
}

/// A signal's usual level does not show in seconds that lose more to something else: threads that wait for one thing do not
/// wait for another. So the larger loss comes first; smaller ones are compared with the other seconds, if there are enough.
fn beside_larger_ones(
    account: &Account,
    mut detected: Vec<Detection>,
    options: &SlowdownOptions<'_>,
) -> Vec<Detection> {
    detected.sort_by(|a, b| b.lost_threads().total_cmp(&a.lost_threads()));
    let mut taken = account.idle.clone();
    let is_known = |kind| options.levels.iter().any(|(known, _)| *known == kind);
    let mut beside = Vec::new();
    for one in detected {
        let others = one.signal.in_work(account.startup, &taken).count();
        let is_usual_unseen =
            one.signal.unit_is_threads() && !one.signal.limits.ideal_is_zero && !is_known(one.signal.kind);
        let one = if is_usual_unseen && one.slow.contains(&true) && others >= BASELINE_MIN_BUCKETS {
            let quiet = one.signal.quiet(account.startup, &taken);
            detect_above(one.signal, account, quiet)
        } else {
            one
        };
        taken.iter_mut().zip(&one.slow).for_each(|(taken, slow)| *taken |= one.signal.unit_is_threads() && *slow);
        beside.push(one);
    }
    beside
}

/// If request latency is known, seconds whose requests were no later than in others are not slow, whatever was lost in them: no
/// user felt it. If there are hardly any other seconds, it is unknown. What is lost for good (datagrams, connection attempts)
/// still counts when requests are quick. What a quota takes is slow only where requests felt it anyway.
fn as_requests_felt(account: &Account, mut detected: Vec<Detection>) -> Vec<Detection> {
    let Some(requests) = account.exact_requests() else { return detected };
    let late = late_seconds(requests, &detected);
    let told = told(account, &detected);
    let is_other = |index: usize| !told[index] && index >= account.startup.boot_buckets;
    let others: Vec<usize> = (0..account.grid.len).filter(|index| is_other(*index)).collect();
    let losses = detected.iter_mut().filter(|detected| detected.signal.kind.is_loss());
    let is_asked = |one: &&mut Detection| one.signal.kind != SignalKind::Throttled && !one.signal.kind.is_for_good();
    for detected in losses.filter(is_asked) {
        match &late {
            Some(late) => detected.slow.iter_mut().zip(late).for_each(|(slow, late)| *slow &= late),
            None if !is_felt(requests, &indexes(&detected.slow), &others) => detected.slow.fill(false),
            None => {}
        }
    }
    detected
}

fn indexes(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|index| marks[*index]).collect()
}

/// The seconds that some signal tells as slow.
fn told(account: &Account, detected: &[Detection]) -> Vec<bool> {
    (0..account.grid.len).map(|index| detected.iter().any(|one| one.slow[index])).collect()
}

/// In seconds that nothing else tells as slow, requests that were late now and then may.
fn or_rare_requests(sources: &Sources<'_>, account: &Account, mut found: Vec<Detection>) -> Vec<Detection> {
    let rare = signals::rare::find(sources, account, &told(account, &found));
    found.extend(rare.map(|(signal, slow, threshold)| Detection { signal, slow, threshold }));
    found
}

/// Where nothing is slow by itself, requests may take longer for long. Where each is known to some ms only, their mean is known better,
/// and tells it beside what else is slow.
fn or_longer_for_long(account: &Account, mut found: Vec<Detection>) -> Vec<Detection> {
    if account.requests_as_work().is_none() {
        return found;
    }
    let is_slow = |found: &[Detection]| found.iter().any(|one| one.slow.contains(&true));
    if !is_slow(&found) {
        for one in &mut found {
            let lasting = signals::lasting::find(&one.signal, account.startup.warm_up_buckets);
            (one.slow, one.threshold) = lasting.unwrap_or((std::mem::take(&mut one.slow), one.threshold));
        }
    }
    if !is_slow(&found) || matches!(account.requests_flaw, Some(Flaw::Coarse { .. })) {
        found.extend(signals::latency::mean(account).and_then(|mean| Detection::of_lasting(account, mean)));
    }
    found
}

/// The seconds in which some request was late, where the requests themselves tell slow time; and those without any request.
fn late_seconds(requests: &Requests, detected: &[Detection]) -> Option<Vec<bool>> {
    let of_latency = |detected: &&Detection| detected.signal.kind == SignalKind::RequestLatency;
    let is_told = detected.iter().any(|detected| !detected.signal.kind.is_loss() && detected.slow.contains(&true));
    let threshold = detected.iter().find(of_latency).filter(|_| is_told)?.threshold;
    let is_late = |index: usize| detected.iter().any(|one| one.signal.kind.is_latency() && one.slow[index]);
    let longest = requests.longest_ns.iter().enumerate();
    Some(longest.map(|(index, longest)| longest.is_none_or(|ns| ns >= threshold) || is_late(index)).collect())
}

/// Whether requests were later in some seconds than in others.
fn is_felt(requests: &Requests, slow: &[usize], others: &[usize]) -> bool {
    let are_many = others.len() >= BASELINE_MIN_BUCKETS.max(slow.len() / 10);
    let is_later = |latency: &Vec<Option<f64>>| {
        let of = |buckets: &[usize]| median(buckets.iter().filter_map(|index| latency[*index]).collect());
        of(slow).zip(of(others)).is_none_or(|(slow, usual)| slow >= MIN_FELT_RATIO * usual)
    };
    !are_many || [&requests.longest_ns, &requests.p99_ns, &requests.p50_ns].into_iter().any(is_later)
}

/// The longest request of a second, its 99th percentile or its median is that many times as long, at the middle, when requests
/// feel what is lost.
const MIN_FELT_RATIO: f64 = 1.3;

/// What the signals tell taken together. What `others` tell is not slow here, but no baseline either.
fn together(account: &Account, detected: Vec<Detection>, others: &[Detection]) -> Slowdown {
    let detected: Vec<Detection> = detected.into_iter().filter(|detected| detected.slow.contains(&true)).collect();
    let mut slow = told(account, &detected);
    let mut touched = slow.clone();
    join(&mut slow);
    gaps::close(account, &mut slow, &detected);
    let mut around = slow.clone();
    for other in others {
        touched.iter_mut().zip(&other.slow).for_each(|(touched, is)| *touched |= is);
        around.iter_mut().zip(&other.slow).for_each(|(around, is)| *around |= is);
    }
    gaps::close(account, &mut around, others);
    let baseline = baseline(account, &touched, &around);
    let time = account.grid.marked(&slow);
    let intervals = intervals(account, &slow, &detected);
    let slowdown = Slowdown {
        regimes: vec![0; intervals.len()],
        intervals,
        slow,
        time,
        baseline,
        is_cpu_measured: account.process_cpu_ns.is_some(),
        signals: detected.iter().map(|t| t.signal.kind).collect(),
        detected: detected.into_iter().map(TriggeredSignal::from).collect(),
        ..Slowdown::default()
    };
    slowdown.by_the_time(account.grid)
}

fn detect(signal: Signal, account: &Account, known_baseline: Option<f64>) -> Detection {
    let quiet = known_baseline.unwrap_or_else(|| signal.quiet(account.startup, &account.idle));
    detect_above(signal, account, quiet)
}

fn detect_above(signal: Signal, account: &Account, quiet: f64) -> Detection {
    let warm_up_buckets = account.startup.warm_up_buckets;
    let threshold = signal.threshold(quiet).max(signal.spread_above(quiet, warm_up_buckets));
    let mut slow = signal.slow(threshold, quiet.min(threshold), warm_up_buckets);
    if let Some(requests) = account.requests.as_ref().filter(|_| signal.kind == SignalKind::MedianLatency) {
        signals::latency::without_jumps(requests, &mut slow);
    }
    Detection { signal, slow, threshold }
}

/// How high each signal is as a rule in a recording of the service when it was well: the middle of its values. Use of the
/// CPUs and what the JVM does at its start say nothing about another recording.
pub(crate) fn levels(sources: &Sources<'_>, account: &Account) -> Vec<(SignalKind, f64)> {
    let is_comparable = |signal: &Signal| {
        matches!(
            signal.kind,
            SignalKind::RequestLatency | SignalKind::MedianLatency | SignalKind::InputOutput | SignalKind::Permits
        )
    };
    let level =
        |signal: Signal| Some((signal.kind, median(signal.values.into_iter().filter(|v| v.is_finite()).collect())?));
    signals::all(sources, account).into_iter().filter(is_comparable).filter_map(level).collect()
}

fn given(account: &Account, (from_ns, to_ns): (i64, i64)) -> Detection {
    let grid = account.grid;
    let inside = |index: usize| grid.start_of(index + 1) > from_ns && grid.start_of(index) < to_ns;
    let slow: Vec<bool> = (0..grid.len).map(inside).collect();
    let values = slow.iter().map(|is| f64::from(u8::from(*is))).collect();
    Detection { signal: Signal::new(SignalKind::Given, values), slow, threshold: 1.0 }
}

/// Closes short gaps between slow stretches.
fn join(slow: &mut [bool]) {
    let mut last: Option<usize> = None;
    for index in 0..slow.len() {
        if !slow[index] {
            continue;
        }
        if let Some(last) = last.filter(|last| index - last <= JOIN_BUCKETS) {
            slow[last..index].fill(true);
        }
        last = Some(index);
    }
}

fn intervals(account: &Account, slow: &[bool], detected: &[Detection]) -> Vec<SlowInterval> {
    runs(slow).into_iter().filter_map(|(start, end)| interval(account, start, end, detected)).collect()
}

/// One slow stretch with the signal that stands out most in it.
fn interval(account: &Account, start: usize, end: usize, detected: &[Detection]) -> Option<SlowInterval> {
    let worst = |detected: &Detection| detected.signal.values[start..end].iter().copied().fold(0.0, f64::max);
    // What users feel says more than what the JVM measures of itself.
    let rank = |detected: &&Detection| {
        let is_direct = match detected.signal.kind {
            SignalKind::MedianLatency => 1,
            kind if kind.is_latency() => 2,
            SignalKind::UnansweredRequests | SignalKind::Given => 2,
            _ => 0,
        };
        (is_direct, worst(detected) / detected.threshold.max(f64::MIN_POSITIVE))
    };
    let in_here = detected.iter().filter(|detected| detected.slow[start..end].contains(&true));
    let best = in_here.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))?;
    Some(SlowInterval {
        from_ns: account.grid.start_of(start),
        to_ns: account.grid.start_of(end),
        signal: best.signal.kind,
        worst: signals::latency::highest(account, best.signal.kind, start..end).unwrap_or_else(|| worst(best)),
    })
}
