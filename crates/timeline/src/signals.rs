//! The signals that identify slow seconds: what a user of the service, or the service itself, suffers.
//!
//! Each signal has a *floor*: a lower value harms no user, whatever it was before. Above the floor a second is slow if it
//! is also several times worse than the quiet part of the recording. If a healthy program has none of the signal, a second
//! is also slow if the whole recording is above the floor.

mod hanging;
pub(crate) mod lasting;
pub(crate) mod latency;
mod pools;
pub(crate) mod rare;
mod rows;
pub(crate) mod service;
mod unread;

use std::ops::Range;

use fathom_evidence::kinds::{counter, span};

use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::median::above_part;
use crate::quota::{Quota, waits_for_cpus_are_most};
use crate::sources::{Series, Sources};
use crate::startup::Startup;
use crate::states::{Collection, Origin, Scope, Stop, ThreadState, Wait};
use rows::Limits;
pub use rows::SignalKind;

const SECOND: f64 = BUCKET_NS as f64;

/// A signal over time with its limits.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub(crate) kind: SignalKind,
    /// One value per bucket.
    pub(crate) values: Vec<f64>,
    pub(crate) limits: Limits,
}

/// A signal that varies much from second to second.
pub(crate) struct Smoothed {
    /// The mean of each second and those around it.
    pub(crate) signal: Signal,
    /// That of each second alone.
    pub(crate) single: Vec<f64>,
}

impl Signal {
    /// A signal with the limits of its kind.
    pub(crate) fn new(kind: SignalKind, values: Vec<f64>) -> Signal {
        Signal { kind, values, limits: kind.limits() }
    }

    /// The value above which a second is slow, given how it is in quiet seconds.
    pub(crate) fn threshold(&self, quiet: f64) -> f64 {
        let jitter = match self.kind {
            SignalKind::RequestLatency => latency::JITTER_P99_NS.min(quiet * 8.0),
            SignalKind::MedianLatency => latency::JITTER_P50_NS.min(quiet * 3.0),
            _ => 0.0,
        };
        self.level(quiet).max(jitter)
    }

    fn level(&self, quiet: f64) -> f64 {
        if quiet < self.limits.floor {
            self.limits.floor.max(quiet * self.limits.factor)
        } else if self.limits.ideal_is_zero {
            self.limits.floor
        } else {
            quiet * self.limits.factor
        }
    }

    /// The level of the quiet seconds: the value that a fifth of the seconds stay below; of latency that of the best stretch
    /// of the recording, start-up included when that is all there is.
    pub(crate) fn quiet(&self, startup: Startup, passed_over: &[bool]) -> f64 {
        if matches!(self.kind, SignalKind::RequestLatency | SignalKind::MedianLatency) {
            return self.usual_latency(startup.warm_up_buckets).or_else(|| self.usual_latency(0)).unwrap_or(0.0);
        }
        above_part(self.in_work(startup, passed_over).collect(), 5).unwrap_or(0.0)
    }

    /// Its values when it tells how the service usually is: known, of seconds that are not to be passed over, and not of those
    /// in which a JVM that starts is always so.
    pub(crate) fn in_work<'a>(&'a self, startup: Startup, passed_over: &'a [bool]) -> impl Iterator<Item = f64> + 'a {
        let later = self.values.iter().zip(passed_over).skip(self.kind.ordinary_at_start(startup));
        later.filter(|(value, passed_over)| value.is_finite() && !**passed_over).map(|(value, _)| *value)
    }

    /// Zeros what is usual while a JVM starts.
    fn forget_start(&mut self, startup: Startup) {
        let (kind, ordinary) = (self.kind, self.kind.ordinary_at_start(startup).min(self.values.len()));
        let usual = self.values[..ordinary].iter_mut().filter(|value| !kind.stands_still(**value));
        usual.for_each(|value| *value = 0.0);
    }

    /// Whether it counts threads that wait.
    pub(crate) fn unit_is_threads(&self) -> bool {
        self.kind.unit() == "threads"
    }

    /// Its highest value.
    pub(crate) fn highest(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// The slow buckets: those over the threshold for long enough, and the ones around them that
    /// are still closer to them than to the quiet seconds.
    pub(crate) fn slow(&self, threshold: f64, quiet: f64, warm_up_buckets: usize) -> Vec<bool> {
        // A JVM that starts runs interpreted code for a while: what is jitter later is nothing then.
        let starting = if self.limits.floor == rows::UNNOTICED_NS {
            threshold.max(2.0 * latency::JITTER_P99_NS)
        } else {
            threshold
        };
        let limit = |index: usize| if index < warm_up_buckets { starting } else { threshold };
        let is_over = |(index, value): (usize, &f64)| *value >= limit(index) && *value > 0.0;
        let over: Vec<bool> = self.values.iter().enumerate().map(is_over).collect();
        let mut slow = vec![false; over.len()];
        for (start, end) in runs(&over) {
            let alone = self.values[start..end].iter().any(|value| *value >= self.limits.alone);
            // A JVM that starts is slow for a few seconds: that is its start, and no slowdown.
            let is_faint = self.limits.floor == rows::UNNOTICED_NS
                && self.values[start..end].iter().all(|value| *value < FAINT_NS);
            let run = if end <= warm_up_buckets || is_faint { self.limits.run.max(LONG_RUN) } else { self.limits.run };
            let stands_still = self.values[start..end].iter().any(|value| self.kind.stands_still(*value));
            slow[start..end].fill(end - start >= run || alone && (end > warm_up_buckets || stands_still));
        }
        let near = quiet + (threshold - quiet) / 2.0;
        let is_near: Vec<bool> = self.values.iter().map(|value| *value >= near).collect();
        for (start, end) in runs(&is_near) {
            let touches = slow[start..end].contains(&true);
            slow[start..end].fill(touches);
        }
        slow
    }
}

/// While a JVM starts, slowness that lasts less than this is its start; and that of a few milliseconds is a neighbour's, in
/// buckets.
const LONG_RUN: usize = 5;

/// A latency below this is a few milliseconds, in ns.
const FAINT_NS: f64 = 20e6;

/// Beginning and end of each stretch of marked buckets.
pub(crate) fn runs(marks: &[bool]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 0..=marks.len() {
        if marks.get(end) != Some(&true) {
            runs.extend((end > start).then_some((start, end)));
            start = end + 1;
        }
    }
    runs
}

/// All signals that the account allows.
pub(crate) fn all(sources: &Sources<'_>, account: &Account) -> Vec<Signal> {
    let mut signals = losses(account);
    let wasted = wasted_compiling(sources, account);
    signals.push(recompiling(account, &wasted));
    signals.push(interpreting(account, &wasted, pinned_from_ns(sources)));
    signals.push(freeing_code(account));
    signals.extend(hanging::deadlock(sources, account));
    signals.push(for_good(SignalKind::LostDatagrams, &sources.lost_datagrams(), account));
    signals.push(for_good(SignalKind::RefusedConnections, &sources.refused_connections(), account));
    signals.extend(latency::all(account));
    signals.extend(unread::signal(sources, account));
    signals.extend(hanging::signal(sources, account));
    signals.extend(throttled(sources, account));
    signals.extend(cpu(account));
    for signal in &mut signals {
        signal.forget_start(account.startup);
        if matches!(signal.kind, SignalKind::RunQueue | SignalKind::PageFaults | SignalKind::Throttled) {
            forget_unobserved(&mut signal.values, &account.observed);
        }
        forget_disturbed(&mut signal.values, account);
    }
    signals
}

/// What Fathom itself disturbed is neither slow nor quiet.
pub(crate) fn forget_disturbed(values: &mut [f64], account: &Account) {
    let disturbed = values.iter_mut().zip(&account.disturbed).filter(|(_, is)| **is);
    disturbed.for_each(|(value, _)| *value = f64::NAN);
}

/// Where nothing was recorded a signal is NaN, so that it is neither slow nor quiet.
fn forget_unobserved(values: &mut [f64], observed: &Range<usize>) {
    let (from, to) = (observed.start.min(values.len()), observed.end.min(values.len()));
    values[..from].fill(f64::NAN);
    values[to..].fill(f64::NAN);
}

fn losses(account: &Account) -> Vec<Signal> {
    let busy = account.sum(|state| match state {
        ThreadState::Running(_) | ThreadState::Runnable => true,
        // Who waits for a result waits for the work of others.
        ThreadState::Blocked(wait) => !matches!(wait, Wait::Unnamed | Wait::Task),
        _ => false,
    });
    // A wait matters when it is a good part of what the threads at work do.
    let of = |kind: SignalKind, whole: &[f64]| {
        let least_part = kind.limits().least_part;
        let matters = |((ns, chance_ns), whole): ((f64, f64), &f64)| {
            let least_ns = (ns - chance_ns).max(0.0);
            if ns >= least_part * whole { least_ns / SECOND } else { 0.0 }
        };
        let made_of = |state| kind.is_made_of(state);
        let known = account.sum(made_of).into_iter().zip(account.chance(made_of));
        Signal::new(kind, known.zip(whole).map(matters).collect())
    };
    let mut signals = LOSSES.map(|kind| of(kind, &busy)).to_vec();
    let permits = signals.iter_mut().filter(|signal| signal.kind == SignalKind::Permits);
    permits.for_each(|signal| signal.limits.ideal_is_zero = pools::waits_are_long(account));
    // If the process's CPU was not measured, nothing counts as a large part of it.
    let process = account.process_cpu_ns.clone().unwrap_or_else(|| vec![f64::INFINITY; account.grid.len]);
    signals.push(of(SignalKind::Collecting, &process));
    signals
}

/// Signals of time that is lost in itself, in the order in which they are reported.
const LOSSES: [SignalKind; 8] = [
    SignalKind::Stopped,
    SignalKind::FullCollections,
    SignalKind::Locks,
    SignalKind::Permits,
    SignalKind::InputOutput,
    SignalKind::RunQueue,
    SignalKind::PageFaults,
    SignalKind::AllocationStalls,
];

/// Compiling counts as lost when it compiles again what was compiled before: when more has been
/// compiled than the code cache holds, or when much of it is thrown away at once.
fn recompiling(account: &Account, wasted: &[bool]) -> Signal {
    let compiler = account.sum(|state| SignalKind::Recompiling.is_made_of(state));
    let process = account.process_cpu_ns.clone().unwrap_or_else(|| account.grid.zeros());
    let value = |index: usize| {
        let counts = wasted[index] && compiler[index] >= SignalKind::Recompiling.limits().least_part * process[index];
        if counts { compiler[index] / SECOND } else { 0.0 }
    };
    Signal::new(SignalKind::Recompiling, (0..account.grid.len).map(value).collect())
}

/// Outer loops of threads are interpreted all their life, and a sampler that looks at returns sees
/// them often. Interpreting is a loss only where something keeps the compiler from hot code.
fn interpreting(account: &Account, wasted: &[bool], pinned_from_ns: Option<i64>) -> Signal {
    let interpreted = account.sum(|state| SignalKind::Interpreting.is_made_of(state));
    let running = account.sum(|state| matches!(state, ThreadState::Running(_)));
    let value = |index: usize| {
        let is_pinned = pinned_from_ns.is_some_and(|from| from < account.grid.start_of(index + 1));
        let counts = (wasted[index] || is_pinned) && interpreted[index] >= INTERPRETED_SHARE * running[index];
        if counts { interpreted[index] / SECOND } else { 0.0 }
    };
    Signal::new(SignalKind::Interpreting, (0..account.grid.len).map(value).collect())
}

/// Occupancy at which the JVM has no room to compile: it begins to hold the compilers back.
pub const CODE_CACHE_PINNED: f64 = 0.9;

/// From this part of what the application ran interpreted code is more than what a program runs once.
pub const INTERPRETED_SHARE: f64 = 0.3;

/// From when on the code cache had no room: it was reported full, or a segment of it was nearly so.
fn pinned_from_ns(sources: &Sources<'_>) -> Option<i64> {
    let events =
        sources.spans(span::CODE_CACHE_FULL).chain(sources.spans(span::COMPILER_DISABLED)).map(|event| event.time_ns);
    let limits = sources.counters(counter::CODE_CACHE_RESERVED_BYTES);
    let segments = sources.counters(counter::CODE_CACHE_USED_BYTES);
    let nearly_full = segments.iter().filter_map(|(key, used)| {
        let limit = limits.get(key).and_then(Series::last).or_else(|| sources.code_cache_reserved_bytes())?;
        used.0.iter().find(|(_, bytes)| *bytes >= CODE_CACHE_PINNED * limit).map(|(time, _)| *time)
    });
    events.chain(nearly_full).min()
}

fn wasted_compiling(sources: &Sources<'_>, account: &Account) -> Vec<bool> {
    let produced = sources.counter(counter::COMPILE_CODE_BYTES, "");
    let reserved = sources.code_cache_reserved_bytes().unwrap_or(f64::INFINITY);
    let turned_over_ns = produced.0.iter().find(|(_, bytes)| *bytes >= reserved).map(|(time, _)| *time);
    let invalidated = sources.counter(counter::COMPILE_INVALIDATED_COUNT, "");
    let compiled = sources.counter(counter::COMPILE_COUNT, "");
    let mut deoptimized = account.grid.zeros();
    for deoptimization in sources.spans(span::DEOPTIMIZATION) {
        account.grid.spread(&mut deoptimized, deoptimization.time_ns, deoptimization.time_ns, 1.0);
    }
    let is_wasted = |index: usize| {
        let (from, to) = (account.grid.start_of(index), account.grid.start_of(index + 1));
        let thrown_away = invalidated.rise_within(from, to).max(deoptimized[index]);
        turned_over_ns.is_some_and(|time| time < to)
            || (thrown_away >= 5.0 && thrown_away >= 0.3 * compiled.rise_within(from, to))
    };
    (0..account.grid.len).map(is_wasted).collect()
}

/// Collections that were started to free code.
fn freeing_code(account: &Account) -> Signal {
    const WINDOW_BUCKETS: usize = 5;
    let mut counts = account.grid.zeros();
    for stop in &account.stops {
        let Stop::Collection(Collection { scope, origin: Origin::CodeCache }) = stop.stop else { continue };
        // A concurrent collection has three pauses or so.
        let part = if scope == Scope::Concurrent { 1.0 / 3.0 } else { 1.0 };
        account.grid.spread(&mut counts, stop.from_ns, stop.from_ns, part);
    }
    let near =
        |index: usize, around: usize| &counts[index.saturating_sub(around)..(index + around + 1).min(counts.len())];
    let mean = |index: usize| {
        // A quiet second does not become a slow one because many follow.
        let is_touched = near(index, 1).iter().any(|count| *count > 0.0);
        let near = near(index, WINDOW_BUCKETS);
        if is_touched { near.iter().sum::<f64>() / near.len() as f64 } else { 0.0 }
    };
    Signal::new(SignalKind::FreeingCode, (0..counts.len()).map(mean).collect())
}

/// Losses of something that never comes again.
fn for_good(kind: SignalKind, losses: &[(i64, i64, f64)], account: &Account) -> Signal {
    let mut values = account.grid.zeros();
    for (from_ns, to_ns, count) in losses {
        account.grid.spread(&mut values, *from_ns, *to_ns, *count);
    }
    Signal::new(kind, values)
}

/// A quota is no slowness if no request waits. If requests are known that may have felt its stops, and their threads are
/// held up mostly by waits for a CPU, the signal needs no baseline.
fn throttled(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    let quota = Quota::of(sources, account)?;
    let is_felt = quota.may_be_felt(account)? && waits_for_cpus_are_most(account);
    is_felt.then(|| Signal::new(SignalKind::Throttled, quota.shares))
}

/// The part of its CPUs that the process uses.
fn cpu(account: &Account) -> Option<Signal> {
    Some(Signal::new(SignalKind::Cpu, account.process_use()?))
}
