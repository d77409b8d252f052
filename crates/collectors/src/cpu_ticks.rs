//! The CPU time of all CPUs together, and the part of it that a process used.

use crate::procfs::{ProcFile, lines, number, read, words};

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

/// CPU time of a process since it was started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTicks {
    /// Of its own threads.
    pub own: u64,
    /// Of its children that have ended.
    pub children: u64,
}

impl ProcessTicks {
    /// None where there is no such process.
    pub fn now(pid: u32) -> Option<ProcessTicks> {
        ProcessTicks::of(&read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program's name before these fields may hold blanks and brackets.
    fn of(stat: &[u8]) -> Option<ProcessTicks> {
        /// How many fields lie between the name and the first of the four.
        const BEFORE: usize = 11;
        let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = words(after_name).skip(BEFORE).map_while(number);
        let mut user_and_system = || Some(fields.next()?.saturating_add(fields.next()?));
        Some(ProcessTicks { own: user_and_system()?, children: user_and_system()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_process() {
        let stat = b"7 (a) b (c) S 1 7 7 0 -1 4194560 5 6 0 0 10 20 300 4000 20 0 1\n";
        assert_eq!(ProcessTicks::of(stat), Some(ProcessTicks { own: 30, children: 4_300 }));
        for cut in ["", "7", "7 (a", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 5 6 0 0 10 20 300"] {
            assert_eq!(ProcessTicks::of(cut.as_bytes()), None, "{cut}");
        }
        assert!(ProcessTicks::now(std::process::id()).is_some());
    }

    #[test]
    fn modes_are_summed_and_guests_counted_once() {
        let found = CpuTicks::of(b"cpu  100 1 50 800 40 2 3 4 90 0\ncpu0 1\n").unwrap();
        assert_eq!((found.all(), found.work, found.stolen, found.idle), (1_000, 156, 4, 840));
        let found = CpuTicks::of(b"cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!((found.idle, found.all()), (850, 1_000));
        assert_eq!(CpuTicks::of(b"cpus"), None);
    }
}
