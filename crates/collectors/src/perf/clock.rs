//! The clock of perf events, beside the monotonic one.
//!
//! Events could use the monotonic clock. But if another program has opened the same event for the same thread, Linux
//! 6.2 and later give both the time of one of their clocks. So the usual clock is requested, and its distance from the
//! monotonic one is measured at an event of our own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::libbpf_sys::PERF_SAMPLE_TIME;
use memmap2::MmapMut;

use super::records::{Record, records};
use super::{FaultEvent, Occasion, Ring, Whom, attributes, open};
use crate::clock::monotonic_ns;
use crate::words::words;

/// The best of so many readings counts, as the thread may lose the CPU in between.
const READINGS: usize = 8;

/// Reads the clock of perf events on the thread that made it.
pub(crate) struct PerfClock {
    ring: Ring,
    _faults: OwnedFd,
    ahead_ns: i64,
}

impl PerfClock {
    /// Begins with the page faults of this thread.
    pub(crate) fn new() -> io::Result<PerfClock> {
        let mut attributes = attributes(Occasion::Fault(FaultEvent::Begins));
        attributes.sample_type = u64::from(PERF_SAMPLE_TIME);
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
        let faults = open(&attributes, Whom::Thread(0))?;
        let ring = Ring::of(faults.as_fd(), 4096)?;
        let mut clock = PerfClock { ring, _faults: faults, ahead_ns: 0 };
        clock.read()?;
        Ok(clock)
    }

    /// How far it is ahead of the monotonic clock, as read last.
    pub(crate) fn ahead_ns(&self) -> i64 {
        self.ahead_ns
    }

    /// Reads both clocks.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        let mut best: Option<(i64, i64)> = None;
        for _ in 0..READINGS {
            let Some((width_ns, ahead_ns)) = self.reading()? else { continue };
            if best.is_none_or(|(least_ns, _)| width_ns < least_ns) {
                best = Some((width_ns, ahead_ns));
            }
        }
        let (_, ahead_ns) = best.ok_or_else(|| io::Error::other("a page fault of Fathom's own had no event"))?;
        self.ahead_ns = ahead_ns;
        Ok(())
    }

    /// How long a page fault of this thread took, and how far the clock was ahead in its middle.
    fn reading(&mut self) -> io::Result<Option<(i64, i64)>> {
        let mut page = MmapMut::map_anon(1)?;
        self.ring.take();
        let before_ns = monotonic_ns();
        page[0] = 1;
        let width_ns = monotonic_ns() - before_ns;
        std::hint::black_box(&page);
        let time_ns = records(self.ring.take()).find_map(|record| match record {
            Record::Sample { body, .. } => words(body).next(),
            Record::Lost => None,
        });
        Ok(time_ns.map(|time_ns| (width_ns, time_ns as i64 - (before_ns + width_ns / 2))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_go_alike() {
        let Ok(mut clock) = PerfClock::new() else {
            eprintln!("SKIPPED: both_clocks_go_alike: there are no perf events here");
            return;
        };
        let first_ns = clock.ahead_ns();
        clock.read().unwrap();
        let apart_ns = (clock.ahead_ns() - first_ns).abs();
        // A disturbance of all eight readings is less than a second.
        assert!(apart_ns < 1_000_000_000, "{apart_ns}");
    }
}
