//! The events of one thread, and how they are opened.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use fathom_symbols::unwind::Registers;
use libbpf_rs::libbpf_sys::{
    PERF_SAMPLE_ADDR, PERF_SAMPLE_IP, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TIME, perf_event_attr,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::pairs::Pairs;
use super::super::parse::ThreadFaults;
use super::event::time_of;
use crate::bpf::online_cpus;
use crate::clock::monotonic_ns;
use crate::host::effective_capabilities;
use crate::perf::records::records;
use crate::perf::{self, FaultEvent, Occasion, Ring, Whom};
use crate::procfs;
use crate::symbols::this_machine;
use crate::{Refusal, Target};

/// Of a ring: enough for a thousand faults, and the least with which it is worth while.
const MOST_RING_BYTES: usize = 64 << 10;
const LEAST_RING_BYTES: usize = 4 << 10;

/// Of a stack, however small the ring is.
const LEAST_STACK_BYTES: usize = 1 << 10;

/// The clock of the events is known, and goes alike on all CPUs, so well at least.
const SLACK_NS: i64 = 1_000_000;

/// May lock as much memory as it wants.
const CAP_IPC_LOCK: u32 = 14;

/// A thread that is observed.
pub(super) struct Watched {
    pub(super) ring: Ring,
    /// When what was taken last can have come, on the monotonic clock, and from when on what is taken next.
    taken: Range<i64>,
    next_ns: i64,
    /// The time of its last record.
    last_ns: i64,
    /// Whether there were many records then.
    pub(super) is_busy: bool,
    pub(super) pairs: Pairs,
    /// Has the ring, and lets it go when dropped.
    _begins: OwnedFd,
    minor: OwnedFd,
    major: OwnedFd,
}

impl Watched {
    /// Empties the ring.
    pub(super) fn take(&mut self) {
        let began_ns = monotonic_ns();
        self.ring.take();
        self.taken = self.next_ns..monotonic_ns();
        self.next_ns = began_ns;
    }

    /// How many of the records taken last have a time that cannot be: of before or after they came, or before that of
    /// the record before. `ahead_ns` is what their clock is ahead of the monotonic one.
    pub(super) fn strange_times(&mut self, ahead_ns: i64) -> u64 {
        let possible = self.taken.start + ahead_ns - SLACK_NS..=self.taken.end + ahead_ns + SLACK_NS;
        let mut strange = 0;
        for time_ns in records(self.ring.taken()).filter_map(time_of) {
            strange += u64::from(!possible.contains(&time_ns) || time_ns < self.last_ns - SLACK_NS);
            self.last_ns = time_ns;
        }
        strange
    }

    /// The faults of the thread so far. Those served are counted also where a ring had no room.
    pub(super) fn counts(&self) -> ThreadFaults {
        let (minor, major) = (perf::count_of(self.minor.as_fd()), perf::count_of(self.major.as_fd()));
        ThreadFaults { minor, major, ..self.pairs.sums }
    }

    /// How many were served of which it is not known how long they took.
    pub(super) fn untimed(&self) -> u64 {
        let ThreadFaults { minor, major, .. } = self.counts();
        (minor + major).saturating_sub(self.pairs.timed)
    }
}

/// Opens the events of threads.
pub(super) struct Opener {
    /// Whether faults that the kernel takes for the thread may be seen too.
    pub(super) sees_kernel: bool,
    /// Of the next ring. Memory for rings is limited per user.
    ring_bytes: usize,
}

impl Opener {
    /// Tries the first thread of `target`.
    pub(super) fn new(target: &Target) -> Result<Opener, Refusal> {
        raise_open_files();
        let threads = target.thread_ids().len();
        let mut opener = Opener { sees_kernel: true, ring_bytes: ring_bytes(threads, lockable_bytes()) };
        opener.open(target.pid).map(|_| opener).map_err(|error| refusal(&error))
    }

    /// Observes a thread from now on.
    pub(super) fn open(&mut self, tid: u32) -> io::Result<Watched> {
        let opened = self.open_once(tid);
        let is_refused =
            |error: &io::Error| error.raw_os_error().is_some_and(|n| n == libc::EACCES || n == libc::EPERM);
        match opened {
            Err(error) if is_refused(&error) && self.sees_kernel => {
                self.sees_kernel = false;
                self.open_once(tid).inspect_err(|_| self.sees_kernel = true)
            }
            opened => opened,
        }
    }

    fn open_once(&mut self, tid: u32) -> io::Result<Watched> {
        let whom = Whom::Thread(tid);
        let begins = perf::open(&self.begins(), whom)?;
        let ring = self.ring(&begins)?;
        let minor = perf::open(&self.served_minor(), whom)?;
        let major = perf::open(&self.served_major(), whom)?;
        for served in [&minor, &major] {
            perf::share_ring(served.as_fd(), begins.as_fd())?;
        }
        let (now_ns, pairs) = (monotonic_ns(), Pairs::default());
        // Ends first: a beginning that is seen must find its end.
        perf::enable(begins.as_fd())?;
        let taken = now_ns..now_ns;
        Ok(Watched { ring, taken, next_ns: now_ns, last_ns: 0, is_busy: false, pairs, _begins: begins, minor, major })
    }

    /// As large as is allowed now.
    fn ring(&mut self, event: &OwnedFd) -> io::Result<Ring> {
        loop {
            match Ring::of(event.as_fd(), self.ring_bytes) {
                Err(error) if self.ring_bytes > LEAST_RING_BYTES && error.raw_os_error() == Some(libc::EPERM) => {
                    self.ring_bytes /= 2;
                }
                ring => return ring,
            }
        }
    }

    fn begins(&self) -> perf_event_attr {
        let fields = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
        let mut attributes = self.attributes(FaultEvent::Begins, fields);
        attributes.set_disabled(1);
        attributes
    }

    fn served_minor(&self) -> perf_event_attr {
        self.attributes(FaultEvent::ServedMinor, PERF_SAMPLE_TIME)
    }

    fn served_major(&self) -> perf_event_attr {
        let fields = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        let mut attributes = self.attributes(FaultEvent::ServedMajor, fields);
        attributes.sample_regs_user = Registers::perf_mask(this_machine());
        // Several have to fit into a ring.
        attributes.sample_stack_user = (self.ring_bytes / 8).max(LEAST_STACK_BYTES) as u32;
        attributes
    }

    fn attributes(&self, event: FaultEvent, fields: u32) -> perf_event_attr {
        let mut attributes = perf::attributes(Occasion::Fault(event));
        attributes.sample_type = u64::from(fields);
        attributes.set_exclude_kernel(u64::from(!self.sees_kernel));
        attributes.set_exclude_hv(1);
        attributes
    }
}

/// What this process may lock for the rings of perf events, in bytes: of each user's allowance for them, and its own.
fn lockable_bytes() -> u64 {
    let read = |path: &str| procfs::read_text(path).unwrap_or_default();
    if effective_capabilities(&read("/proc/self/status")) >> CAP_IPC_LOCK & 1 == 1 {
        return u64::MAX;
    }
    let of_a_cpu_kb: u64 = read("/proc/sys/kernel/perf_event_mlock_kb").trim().parse().unwrap_or(0);
    let own_bytes = getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX);
    own_bytes.saturating_add(of_a_cpu_kb.saturating_mul(1024).saturating_mul(online_cpus().len() as u64))
}

/// Rings so large that all threads have one, and as many that may come. Each has a page more, which tells its state.
fn ring_bytes(threads: usize, lockable_bytes: u64) -> usize {
    let page_bytes = rustix::param::page_size();
    let all_take = |ring_bytes: usize| (2 * threads * (page_bytes + ring_bytes)) as u64;
    let mut bytes = MOST_RING_BYTES;
    while bytes > LEAST_RING_BYTES && all_take(bytes) > lockable_bytes {
        bytes /= 2;
    }
    bytes
}

/// As many open files as this process may have: each thread takes three.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Where it is refused, fewer threads are observed, and that is reported.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

fn refusal(error: &io::Error) -> Refusal {
    let (why, grant) = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => (
            "perf events of the process are refused",
            "be the user of the process with sysctl kernel.perf_event_paranoid=2 or less, or have CAP_PERFMON, and a seccomp profile that allows perf_event_open",
        ),
        Some(libc::EMFILE) => {
            ("too few files may be open for perf events", "raise the limit of open files: ulimit -n 65536")
        }
        _ => ("perf events of the process could not be opened", ""),
    };
    Refusal::new(format!("{why}: {error}"), grant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_fit_into_what_may_be_locked() {
        let page = rustix::param::page_size() as u64;
        let all_with = |threads: u64, ring: u64| 2 * threads * (page + ring);
        for (threads, lockable_bytes, expected) in [
            (2_000, u64::MAX, MOST_RING_BYTES),
            (0, 0, MOST_RING_BYTES),
            (100, all_with(100, 64 << 10), MOST_RING_BYTES),
            (100, all_with(100, 64 << 10) - 1, MOST_RING_BYTES / 2),
            (1_000, all_with(1_000, 8 << 10), 8 << 10),
            (1_000, 0, LEAST_RING_BYTES),
        ] {
            assert_eq!(ring_bytes(threads, lockable_bytes), expected, "{threads} {lockable_bytes}");
        }
    }
}
