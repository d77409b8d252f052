//! What the slow time has more of than the baseline.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::looks;
use crate::signals::SignalKind;
use crate::slowdown::{BaselineMeans, Slowdown};
use crate::states::{Layer, ThreadState, Wait};

/// One kind of thread time, slow against baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateExcess {
    /// Which kind.
    pub state: ThreadState,
    /// In the slow time, in ns of thread time.
    pub slow_ns: f64,
    /// What the baseline has in as much time, in ns.
    pub baseline_ns: f64,
    /// Whether that was recorded; else it is what should be there.
    pub is_baseline_known: bool,
    /// Whether it is lost time in this slowdown.
    pub counts: bool,
    /// More of it than this cannot be lost, in ns.
    pub at_most_ns: f64,
}

impl StateExcess {
    /// By how much it grew; negative when it shrank.
    pub fn excess_ns(&self) -> f64 {
        self.slow_ns - self.baseline_ns
    }

    /// The part that is to be explained.
    pub fn lost_ns(&self) -> f64 {
        if self.counts { self.excess_ns().max(0.0).min(self.at_most_ns) } else { 0.0 }
    }
}

/// The account's answer: what grew, what shrank.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Excess {
    /// Every kind of thread time.
    pub states: Vec<StateExcess>,
    /// Length of the slow time, in ns.
    pub slow_ns: f64,
    /// Length of the baseline, in ns; 0 when there is none.
    pub baseline_ns: f64,
    /// Threads of the application at work at once in the slow time; each stop counts that often.
    pub concurrency: f64,
}

impl Excess {
    /// All that is to be explained, in ns of thread time.
    pub fn lost_ns(&self) -> f64 {
        self.states.iter().map(StateExcess::lost_ns).sum()
    }

    /// The excess of one kind of time; none when there was none of it.
    pub fn of(&self, state: ThreadState) -> Option<&StateExcess> {
        self.states.iter().find(|excess| excess.state == state)
    }

    /// Sums over the kinds that `select` chooses: slow, baseline.
    pub fn sums(&self, select: impl Fn(ThreadState) -> bool) -> (f64, f64) {
        let chosen = self.states.iter().filter(|excess| select(excess.state));
        chosen.fold((0.0, 0.0), |sum, excess| (sum.0 + excess.slow_ns, sum.1 + excess.baseline_ns))
    }
}

/// Compares slow time with the baseline, of the same or another recording. Where there are none the comparison is with
/// no loss at all.
pub(crate) fn compare(
    account: &Account,
    slowdown: &Slowdown,
    other: &Account,
    baseline: &dyn Fn() -> Vec<usize>,
) -> Excess {
    let slow_ns = slowdown.time.total_ns() as f64;
    if slow_ns <= 0.0 {
        return Excess::default();
    }
    let parts = slowdown.slow_parts(account.grid);
    let buckets = parts.iter().map(|(index, _)| *index);
    let concurrency = account.concurrency(buckets).max(late_at_once(account, slowdown));
    let mut names: Vec<ThreadState> = account.states.keys().chain(other.states.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let baseline = slowdown.baseline_means.get_or_init(|| means(other, &baseline(), &names));
    let both = Both { account, slowdown, baseline, parts, concurrency };
    let mut states: Vec<StateExcess> = names.into_iter().map(|state| both.of(state)).collect();
    both.add_lateness(&mut states);
    let baseline_ns = baseline.buckets as f64 * BUCKET_NS as f64;
    Excess { states, slow_ns, baseline_ns, concurrency }
}

fn means(account: &Account, baseline: &[usize], names: &[ThreadState]) -> BaselineMeans {
    let sums = |state: &ThreadState, rows: &BTreeMap<ThreadState, Vec<f64>>| {
        let known = account.known(*state);
        let row = rows.get(state);
        let buckets = baseline.iter().filter(|index| known.contains(index));
        buckets.fold((0.0, 0.0), |(buckets, total), index| {
            (buckets + account.covered[*index], total + row.map_or(0.0, |row| row[*index]))
        })
    };
    let of = |state: &ThreadState| {
        let (buckets, total) = sums(state, &account.states);
        (buckets > 0.0).then(|| (*state, total / buckets))
    };
    let variance = |state: &ThreadState| {
        let (buckets, total) = sums(state, &account.variance);
        (total > 0.0 && buckets > 0.0).then(|| (*state, total / buckets / buckets))
    };
    BaselineMeans {
        ns: names.iter().filter_map(of).collect(),
        variance: names.iter().filter_map(variance).collect(),
        buckets: baseline.len(),
    }
}

/// Where requests wait for each other, one that is held up delays those behind it. In a service that is two thirds busy the
/// delays add up to three times what held it up.
const QUEUEING: f64 = 3.0;

/// How many requests were late at once, on average over the time in which one was: a stop costs each of them its length. No
/// more than there are threads of the application can have been at work.
fn late_at_once(account: &Account, slowdown: &Slowdown) -> f64 {
    let Some(late) = &account.lateness else { return 0.0 };
    let sum = |row: &[f64]| slowdown.slow_buckets().map(|index| row[index]).sum::<f64>();
    (sum(&late.each_ns) / sum(&late.any_ns).max(1.0)).min(account.threads as f64)
}

/// Slow time and baseline side by side.
struct Both<'a> {
    account: &'a Account,
    slowdown: &'a Slowdown,
    baseline: &'a BaselineMeans,
    /// The slow buckets, and which part of each is slow.
    parts: Vec<(usize, f64)>,
    concurrency: f64,
}

impl Both<'_> {
    fn weight(&self, state: ThreadState) -> f64 {
        if matches!(state, ThreadState::Stopped(_)) { self.concurrency } else { 1.0 }
    }

    fn of(&self, state: ThreadState) -> StateExcess {
        let known = self.account.known(state);
        let slow = || self.parts.iter().filter(|(index, _)| known.contains(index));
        let row = self.account.states.get(&state);
        let slow_ns = self.weight(state) * row.map_or(0.0, |row| slow().map(|(index, part)| row[*index] * part).sum());
        let length: f64 = slow().map(|(index, part)| part * self.account.covered[*index]).sum();
        let usual = self.baseline.ns.get(&state);
        let variance = self.account.variance.get(&state);
        let slow_variance: f64 = variance.map_or(0.0, |row| slow().map(|(index, part)| row[*index] * part).sum());
        let usual_variance = self.baseline.variance.get(&state).map_or(0.0, |variance| variance * length * length);
        let baseline_ns = usual.map_or_else(|| ideal(state, slow_ns), |ns| self.weight(state) * ns * length);
        let may_be_chance = slow_ns - baseline_ns <= looks::chance(slow_variance + usual_variance);
        StateExcess {
            state,
            slow_ns,
            baseline_ns,
            is_baseline_known: usual.is_some(),
            counts: self.slowdown.counts(state),
            at_most_ns: if slow_variance > 0.0 && may_be_chance { 0.0 } else { f64::INFINITY },
        }
    }

    /// Requests that were late say how much time was lost, whatever was recorded of it. Work, and waits that look like
    /// idleness, are lost time only as far as requests were late for longer than the losses account for: a thread that
    /// serves no request may do both. If a request was late while hardly any known time was lost, that time is unknown and
    /// stays in the total; not for [`QUEUEING`] times as long as what is known: others may be in a queue behind it.
    fn add_lateness(&self, states: &mut Vec<StateExcess>) {
        // What is only suspected is asked about where no requests clear it: those that there are say little of it.
        let signals = &self.slowdown.signals;
        let is_suspected = [SignalKind::BelowJava, SignalKind::TimeInService].iter().any(|kind| signals.contains(kind));
        let Some(late) = self.account.lateness.as_ref().filter(|_| !is_suspected) else {
            // A recorder leaves short waits out, so that a thread that is idle for longer seems to wait more.
            let unnamed = states.iter_mut().filter(|excess| excess.state == ThreadState::Blocked(Wait::Unnamed));
            return unnamed.for_each(|excess| excess.at_most_ns = 0.0);
        };
        let busy = self.machine_use().unwrap_or(1.0);
        for excess in states.iter_mut().filter(|excess| excess.state == ThreadState::Compiler) {
            excess.at_most_ns = busy * excess.lost_ns();
        }
        let losses = self.lost_by_bucket(states, |state| !needs_lateness(state));
        let others = self.lost_by_bucket(states, needs_lateness);
        let (mut missing_ns, mut unknown_ns) = (0.0, 0.0);
        for &(index, part) in &self.parts {
            let missing = (late.all_ns[index] - losses[index]).max(0.0);
            missing_ns += missing * part;
            let known = losses[index] + others[index].min(missing);
            unknown_ns += part * (late.any_ns[index] - QUEUEING * known).max(0.0);
        }
        let bounded = |excess: &&mut StateExcess| needs_lateness(excess.state) && excess.lost_ns() > 0.0;
        let all_ns: f64 = states.iter().filter(|e| needs_lateness(e.state)).map(StateExcess::lost_ns).sum();
        for excess in states.iter_mut().filter(bounded) {
            excess.at_most_ns = missing_ns * excess.lost_ns() / all_ns;
        }
        if unknown_ns > 0.0 {
            let (slow_ns, baseline_ns) = (unknown_ns, 0.0);
            states.push(StateExcess {
                state: ThreadState::Unknown,
                slow_ns,
                baseline_ns,
                is_baseline_known: true,
                counts: true,
                at_most_ns: f64::INFINITY,
            });
        }
    }

    /// Use of the machine's CPUs in the slow time. All of them are in use for no larger part of it, and only then does a thread wait
    /// for what compilers run beside it.
    fn machine_use(&self) -> Option<f64> {
        let ratio = self.account.machine_ratio.as_ref()?;
        let known = self.parts.iter().filter_map(|(index, part)| Some((ratio[*index]? * part, *part)));
        let (used, all) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all > 0.0).then(|| (used / all).min(1.0))
    }

    /// For each bucket, how much more than usual was lost in the kinds of time that `select` chooses, in ns.
    fn lost_by_bucket(&self, states: &[StateExcess], select: impl Fn(ThreadState) -> bool) -> Vec<f64> {
        let mut lost = vec![0.0; self.account.grid.len];
        for excess in states.iter().filter(|excess| select(excess.state) && excess.lost_ns() > 0.0) {
            let Some(row) = self.account.states.get(&excess.state) else { continue };
            let usual = self.weight(excess.state) * self.baseline.ns.get(&excess.state).copied().unwrap_or(0.0);
            let part = excess.lost_ns() / excess.excess_ns();
            for (lost, ns) in lost.iter_mut().zip(row) {
                *lost += part * (ns * self.weight(excess.state) - usual).max(0.0);
            }
        }
        lost
    }
}

/// Whether time of this kind is lost only where requests were late. Code that runs interpreted is a loss wherever it grew.
/// Concurrent work of a collector costs a request nothing while there are CPUs for both. Threads that read and write files
/// or run programs in the background delay no request either.
fn needs_lateness(state: ThreadState) -> bool {
    match state {
        ThreadState::Running(layer) => layer != Layer::Interpreted,
        state => matches!(
            state,
            ThreadState::Vm
                | ThreadState::Collector(_)
                | ThreadState::Blocked(Wait::Unnamed | Wait::FileBriefly | Wait::ProcessBriefly)
        ),
    }
}

/// Without a baseline a loss should not be there at all, work is taken as it is, and what looks like idleness is taken for
/// idleness.
fn ideal(state: ThreadState, slow_ns: f64) -> f64 {
    let is_work = matches!(state, ThreadState::Running(layer) if layer != Layer::Interpreted);
    let is_idle = matches!(state, ThreadState::Blocked(Wait::Unnamed | Wait::Task));
    if is_work || is_idle || state == ThreadState::Vm { slow_ns } else { 0.0 }
}
