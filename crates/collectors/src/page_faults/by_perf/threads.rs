//! All observed threads of the target.

use std::collections::{HashMap, HashSet};

use fathom_evidence::kinds::loss;
use fathom_symbols::unwind::Registers;

use super::super::pairs::Event;
use super::super::parse::ThreadFaults;
use super::super::{BUCKETS, Fault};
use super::event::event;
use super::watched::{Opener, Watched};
use crate::clock::monotonic_ns;
use crate::perf::PerfClock;
use crate::perf::records::{UserSample, records};
use crate::symbols::this_machine;
use crate::words::words;

/// For this long after an impossible time, no duration of a fault is trusted: another program records the same events
/// by another clock, and of some events only the beginning, or only the end, has that clock's time.
const DISTRUST_NS: i64 = 10_000_000_000;

/// A ring in which there was more than this at a look fills fast.
const BUSY_BYTES: usize = 1 << 10;

/// A fault that was served.
pub(super) struct Found<'a> {
    pub(super) tid: u32,
    pub(super) fault: Fault,
    /// The thread as it then was, of major ones: its registers and a piece of its stack.
    pub(super) user: Option<(Registers, &'a [u8])>,
}

/// The threads.
pub(super) struct Threads {
    opener: Opener,
    watched: HashMap<u32, Watched>,
    /// Those that are not observed, and what the system said of the last one that cannot be.
    unseen: HashSet<u32>,
    /// How many of them are left alone although they could be.
    left: u64,
    said: String,
    clock: PerfClock,
    /// Records with a time that cannot be.
    of_other_clocks: u64,
    distrust_until_ns: i64,
    /// Faults of threads that have ended of which it is not known how long they took.
    untimed: u64,
}

impl Threads {
    pub(super) fn new(opener: Opener, clock: PerfClock) -> Threads {
        Threads {
            opener,
            watched: HashMap::new(),
            unseen: HashSet::new(),
            left: 0,
            said: String::new(),
            clock,
            of_other_clocks: 0,
            distrust_until_ns: i64::MIN,
            untimed: 0,
        }
    }

    /// Those that are observed.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.watched.keys().copied()
    }

    /// Lets go of those that are not `alive`, and takes up the others.
    pub(super) fn follow(&mut self, alive: &HashSet<u32>) {
        for (_, ended) in self.watched.extract_if(|tid, _| !alive.contains(tid)) {
            self.untimed += ended.untimed();
        }
        for tid in alive {
            if self.watched.contains_key(tid) || self.unseen.contains(tid) {
                continue;
            }
            match self.opener.open(*tid) {
                Ok(watched) => {
                    self.watched.insert(*tid, watched);
                }
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    self.unseen.insert(*tid);
                    self.said = error.to_string();
                }
            }
        }
    }

    /// Empties the rings, or only those that fill fast: each fault goes into the histogram and to `tell`.
    pub(super) fn take(
        &mut self,
        only_busy: bool,
        histogram: &mut [u64; BUCKETS as usize],
        mut tell: impl FnMut(Found<'_>),
    ) {
        let ahead_ns = self.clock.ahead_ns();
        let chosen = |watched: &Watched| !only_busy || watched.is_busy;
        let mut strange = 0;
        for watched in self.watched.values_mut().filter(|watched| chosen(watched)) {
            watched.take();
            strange += watched.strange_times(ahead_ns);
        }
        if strange > 0 {
            self.of_other_clocks += strange;
            self.distrust_until_ns = monotonic_ns() + DISTRUST_NS;
        }
        let is_distrusted = monotonic_ns() < self.distrust_until_ns;
        for (tid, watched) in self.watched.iter_mut().filter(|(_, watched)| chosen(watched)) {
            for record in records(watched.ring.taken()) {
                let Some((event, user)) = event(record) else { continue };
                let event = if is_distrusted { Event::Lost } else { event };
                let Some(mut fault) = watched.pairs.see(event, histogram) else { continue };
                fault.began_ns -= ahead_ns;
                let user = user.map(|user| (registers(&user), user.stack));
                // The kernel's own instruction tells nothing of the program.
                if fault.in_kernel {
                    fault.instruction = user.as_ref().and_then(|(registers, _)| registers.instruction_pointer());
                }
                tell(Found { tid: *tid, fault, user });
            }
            watched.is_busy = watched.ring.taken().len() > BUSY_BYTES;
        }
    }

    /// Reads the clock of the events again, as clocks drift.
    pub(super) fn read_clock(&mut self) {
        // Where that fails the last reading is as good as any.
        let _ = self.clock.read();
    }

    /// Leaves a thread alone from now on.
    pub(super) fn leave(&mut self, tid: u32) {
        if let Some(watched) = self.watched.remove(&tid) {
            self.untimed += watched.untimed();
            self.left += 1;
            self.unseen.insert(tid);
        }
    }

    /// What each has had so far.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, ThreadFaults)> {
        self.watched.iter().map(|(tid, watched)| (*tid, watched.counts()))
    }

    /// What could not be seen: kind, number, words.
    pub(super) fn losses(&self) -> [(&'static str, u64, String); 5] {
        let untimed: u64 = self.watched.values().map(Watched::untimed).sum();
        [
            (
                loss::EVENTS_LOST,
                self.untimed + untimed,
                "page faults are counted of which it is not known how long they took: they came faster than they could be taken over, or had begun before"
                    .to_owned(),
            ),
            (
                loss::EVENTS_LOST,
                self.of_other_clocks,
                "events of page faults with the time of another clock: another tool records them too, and Linux 6.2 and later confuse the two; for ten seconds after each no page fault is a span"
                    .to_owned(),
            ),
            (
                loss::LIMIT,
                (self.unseen.len() as u64).saturating_sub(self.left),
                format!("threads whose page faults could not be seen: {} (memory for rings: ulimit -l, kernel.perf_event_mlock_kb; open files: ulimit -n)", self.said),
            ),
            (
                loss::LIMIT,
                self.left,
                "threads whose page faults were seen no more: they switch so often that to watch them costs too much"
                    .to_owned(),
            ),
            (
                loss::REFUSED,
                u64::from(!self.opener.sees_kernel),
                "page faults that the kernel takes for a thread, in system calls: they need kernel.perf_event_paranoid=1 or CAP_PERFMON"
                    .to_owned(),
            ),
        ]
    }
}

fn registers(user: &UserSample<'_>) -> Registers {
    let values: Vec<u64> = words(user.registers).collect();
    Registers::from_perf(this_machine(), Registers::perf_mask(this_machine()), &values)
}
