//! What all CPUs together have done so far.

use crate::procfs::{ProcFile, lines, number, words};

/// CPU time of the machine since it was started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    /// Nothing to do, or waiting for I/O.
    pub idle: u64,
    /// For any process, or for the kernel.
    pub work: u64,
    /// Taken by the host.
    pub stolen: u64,
}

impl CpuTicks {
    /// None where the kernel does not say.
    pub fn now() -> Option<CpuTicks> {
        let mut buffer = Vec::new();
        ProcFile::open("/proc/stat").ok()?.read(&mut buffer).ok().and_then(CpuTicks::of)
    }

    /// From the first line of `/proc/stat`. Time of guests is in the first two modes as well.
    fn of(text: &[u8]) -> Option<CpuTicks> {
        let mut modes = words(lines(text).next()?.strip_prefix(b"cpu ")?);
        let [user, nice, system, idle, iowait, irq, softirq, stolen] =
            std::array::from_fn(|_| modes.next().and_then(number).unwrap_or(0));
        let sum = |modes: &[u64]| modes.iter().copied().fold(0, u64::saturating_add);
        let work = sum(&[user, nice, system, irq, softirq]);
        Some(CpuTicks { idle: sum(&[idle, iowait]), work, stolen })
    }

    /// Of all CPUs, whatever they did.
    pub fn all(self) -> u64 {
        self.idle.saturating_add(self.work).saturating_add(self.stolen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_summed_and_guests_counted_once() {
        let found = CpuTicks::of(b"cpu  100 1 50 800 40 2 3 4 90 0\ncpu0 1\n").unwrap();
        assert_eq!((found.all(), found.work, found.stolen, found.idle), (1_000, 156, 4, 840));
        let found = CpuTicks::of(b"cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!((found.idle, found.all()), (850, 1_000));
        assert_eq!(CpuTicks::of(b"cpus"), None);
    }
}
