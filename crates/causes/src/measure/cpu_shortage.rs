//! Whether there were too few CPUs. Causes whose waits look longer then ask this: a woken thread is in the run queue before
//! its wait is seen to end.

use fathom_timeline::{ThreadState, Wait};

use crate::comparison::Comparison;
use crate::limits::CPUS_FULL;

/// Others took the CPUs when they used so much more of all of them than before; less comes and goes.
const MIN_INCREASE: f64 = 0.15;

/// If the CPUs are full, a woken thread waits for a few slices of the scheduler, in ns.
const FEW_SLICES_NS: f64 = 20e6;

/// What is known of the CPUs in the slow time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShortage {
    /// Use of all CPUs of the machine.
    pub machine: Option<f64>,
    /// Use of those that the JVM may use, by itself.
    pub own: Option<f64>,
    /// The use of all CPUs, where other processes took them in the slow time and had not before.
    pub by_others: Option<f64>,
    /// The mean wait for a CPU, in ns, if waits were recorded one by one and threads waited for CPUs more than for services.
    mean_wait_ns: Option<f64>,
    /// Whether waits for a CPU would have been recorded one by one.
    are_waits_told: bool,
}

/// Asks for it.
pub fn cpu_shortage(comparison: &Comparison<'_>) -> CpuShortage {
    CpuShortage {
        machine: comparison.machine_use().map(|(used, _)| used),
        own: comparison.process_use().map(|(used, _)| used),
        by_others: by_others(comparison),
        mean_wait_ns: mean_wait_ns(comparison),
        are_waits_told: comparison.has_source("scheduler"),
    }
}

impl CpuShortage {
    /// Whether all CPUs of the machine were in use; nothing where that is not known.
    pub fn is_full(&self) -> Option<bool> {
        self.machine.map(|used| used >= CPUS_FULL)
    }

    /// Whether this process used all CPUs that it may.
    pub fn is_full_of_itself(&self) -> Option<bool> {
        self.own.map(|used| used >= CPUS_FULL)
    }

    /// The use of the CPUs, by the machine or by this process alone where that is more, if they had room.
    pub fn room(&self) -> Option<f64> {
        self.machine.map(|used| used.max(self.own.unwrap_or(0.0))).filter(|used| *used < CPUS_FULL)
    }

    /// Whether waits that became longer by so much may have ended in time, and only the thread that waited got a CPU late.
    pub fn may_lengthen(&self, longer_ns: f64) -> bool {
        let is_wake_up = self.mean_wait_ns.is_some_and(|mean_ns| longer_ns <= 2.0 * mean_ns);
        let may_be_wake_up = !self.are_waits_told && longer_ns <= FEW_SLICES_NS && self.is_full() != Some(false);
        self.by_others.is_some() || is_wake_up || may_be_wake_up
    }
}

fn by_others(comparison: &Comparison<'_>) -> Option<f64> {
    let (used, _) = comparison.machine_use()?;
    let (slow, baseline) = comparison.cores_of_others()?;
    let cpus = comparison.analysis.account.cpus?;
    (used >= CPUS_FULL && slow >= baseline.unwrap_or(0.0) + MIN_INCREASE * cpus).then_some(used)
}

fn mean_wait_ns(comparison: &Comparison<'_>) -> Option<f64> {
    let lost_ns = |state: ThreadState| comparison.excess().of(state).map_or(0.0, |excess| excess.lost_ns());
    let (count, total_ns) = comparison
        .long_waits_for_cpu()
        .fold((0_u32, 0.0), |(count, sum), wait| (count + 1, sum + wait.duration_ns.max(0) as f64));
    let is_most = lost_ns(ThreadState::Runnable) >= lost_ns(ThreadState::Blocked(Wait::Socket));
    (count > 0 && is_most).then(|| total_ns / f64::from(count))
}
