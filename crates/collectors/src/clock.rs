//! Puts the kernel's monotonic clock on the common time axis.

use fathom_evidence::Recording;
use fathom_evidence::tables::ClockPair;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

const SECOND_NS: i64 = 1_000_000_000;

/// The distance between the wall clock and the monotonic clock, read once, so that time steps of
/// the wall clock during a recording move nothing.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_minus_monotonic_ns: i64,
}

impl Clock {
    /// Reads both clocks; the best of several tries, as the thread may lose the CPU in between.
    pub fn read() -> Clock {
        let pairs = (0..16).map(|_| {
            let before = ns(clock_gettime(ClockId::Monotonic));
            let wall = ns(clock_gettime(ClockId::Realtime));
            let after = ns(clock_gettime(ClockId::Monotonic));
            (after - before, wall - (before + (after - before) / 2))
        });
        let (_, wall_minus_monotonic_ns) = pairs.min_by_key(|(width, _)| *width).unwrap_or_default();
        Clock { wall_minus_monotonic_ns }
    }

    /// Now, in ns since the Unix epoch, by the monotonic clock.
    pub fn now_ns(&self) -> i64 {
        self.wall_ns(monotonic_ns())
    }

    /// An instant of the monotonic clock (BPF, perf, the JVM) in ns since the Unix epoch.
    pub fn wall_ns(&self, monotonic_ns: i64) -> i64 {
        monotonic_ns.saturating_add(self.wall_minus_monotonic_ns)
    }

    /// The inverse of [`Clock::wall_ns`].
    pub fn monotonic_of_ns(&self, wall_ns: i64) -> i64 {
        wall_ns.saturating_sub(self.wall_minus_monotonic_ns)
    }

    /// Time since the machine began, in ns: what procfs counts the start of a process by.
    pub(crate) fn since_boot_ns() -> i64 {
        ns(clock_gettime(ClockId::Boottime))
    }

    /// Leaves the pair in the recording.
    pub fn note(&self, found: &mut Recording) {
        let reading = monotonic_ns();
        let pair = ClockPair {
            clock: found.strings.intern("monotonic"),
            reading,
            per_second: SECOND_NS,
            time_ns: self.wall_ns(reading),
            source: found.strings.intern("fathom"),
        };
        found.clocks.push(pair);
    }
}

/// The monotonic clock, in ns.
pub(crate) fn monotonic_ns() -> i64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time that the calling thread has used, in ns. This clock takes a system call, which a sandbox around this program may refuse: then
/// what is observed is worth more than what observing costs.
pub(crate) fn thread_cpu_ns() -> i64 {
    clock_gettime_dynamic(DynamicClockId::Known(ClockId::ThreadCPUTime)).map_or(0, ns)
}

fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND_NS).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_go_there_and_back() {
        let clock = Clock::read();
        for instant in [0, 1, monotonic_ns()] {
            assert_eq!(clock.monotonic_of_ns(clock.wall_ns(instant)), instant);
        }
    }
}
