//! Page faults seen by the kernel's events of each thread, for users who may not load programs into the kernel: for a
//! process of the same user it needs no right at all (`perf_event_paranoid` up to 2).
//!
//! Each thread has a ring. One record says that a fault begins, another that it has been served. Records of major
//! faults have the registers and a piece of the stack, which would be too much for the many minor ones. What the thread
//! waited for in the kernel is not available this way.

mod event;
mod switches;
mod threads;
mod watched;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use super::rows::Rows;
use super::{BUCKETS, COUNT_PERIOD, NAME};
use crate::clock::monotonic_ns;
use crate::perf::PerfClock;
use crate::procfs;
use crate::rate_limit::RateLimit;
use crate::symbols::UserStack;
use crate::{Observer, Order, Refusal, Target, Tier};
use switches::Switches;
use threads::{Found, Threads};
use watched::Opener;

/// What it sees.
pub(super) const SEES: &str =
    "page faults with their latency, file and section, and the user stack of major ones; not what they waited for";

/// Rings that fill fast are emptied so often: a thread may have some ten thousand faults a second before one overflows.
const PERIOD: Duration = Duration::from_millis(20);

/// The others are emptied at each so many looks.
const LOOKS: u32 = 5;

/// New threads are looked for so often.
const THREADS_PERIOD: Duration = Duration::from_millis(100);

/// Whether a thread of the target could be observed.
pub(super) fn check(target: &Target) -> Result<(), Refusal> {
    Opener::new(target)?;
    clock().map(|_| ())
}

fn clock() -> Result<PerfClock, Refusal> {
    let refusal = |error| Refusal::new(format!("the clock of perf events could not be read: {error}"), "");
    PerfClock::new().map_err(refusal)
}

/// Begins to observe; `refusal` is why there is no better way.
pub(super) fn start(target: &Target, order: &Order, refusal: &Refusal) -> Result<Box<dyn Observer>, Refusal> {
    let mut observer = ByPerf {
        threads: Threads::new(Opener::new(target)?, clock()?),
        threshold_ns: order.page_fault_ns,
        histogram: [0; BUCKETS as usize],
        rows: Rows::new(target, order),
        target: target.clone(),
        limit: RateLimit::every(COUNT_PERIOD),
        pace_of_threads: RateLimit::every(THREADS_PERIOD),
        switches: Switches::default(),
        looks: 0,
        why: refusal.why.clone(),
    };
    observer.threads.follow(&target.thread_ids());
    Ok(Box::new(observer))
}

struct ByPerf {
    threads: Threads,
    threshold_ns: i64,
    /// Faults by power of two of their ns.
    histogram: [u64; BUCKETS as usize],
    rows: Rows,
    target: Target,
    limit: RateLimit,
    pace_of_threads: RateLimit,
    switches: Switches,
    looks: u32,
    /// Why there are no programs in the kernel.
    why: String,
}

impl Observer for ByPerf {
    fn tier(&self) -> Option<Tier> {
        Some(Tier::Perf)
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.looks = self.looks.wrapping_add(1);
        self.take(!self.looks.is_multiple_of(LOOKS), found);
        if let Some(reading) = self.pace_of_threads.begin(monotonic_ns()) {
            self.follow_threads(found);
            self.pace_of_threads.end(reading);
        }
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.count(found);
            self.leave_the_busiest(found);
            self.threads.read_clock();
            self.limit.end(reading);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take(false, found);
        self.count(found);
        self.tell_losses(found);
        self.limit.tell(found, NAME, "the counts of all threads");
        self.pace_of_threads.tell(found, NAME, "the list of threads");
        self.rows.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl ByPerf {
    /// Empties the rings, or only those that fill fast.
    fn take(&mut self, only_busy: bool, found: &mut Recording) {
        let ByPerf { threads, rows, histogram, threshold_ns, .. } = self;
        threads.take(only_busy, histogram, |Found { tid, fault, user }| {
            if fault.duration_ns >= *threshold_ns {
                let user = user.map(|(registers, stack)| UserStack { registers, stack, frames: &[] });
                rows.add(found, tid, &fault, user.as_ref(), &[]);
            }
        });
    }

    /// Lets go of threads that have ended, when their last faults are written, and takes up new ones.
    fn follow_threads(&mut self, found: &mut Recording) {
        let mut alive = self.target.thread_ids();
        let ended = self.target.ended_of_unlisted(self.threads.ids().filter(|tid| !alive.contains(tid)));
        if !ended.is_empty() {
            self.take(false, found);
            self.count(found);
            self.rows.retain(|tid| !ended.contains(tid));
        }
        alive.extend(self.threads.ids().filter(|tid| !ended.contains(tid)));
        self.threads.follow(&alive);
    }

    /// Leaves threads alone of which all switches would cost too much.
    fn leave_the_busiest(&mut self, found: &mut Recording) {
        let read = |tid: u32| procfs::read_text(self.target.proc(&format!("task/{tid}/schedstat"))).ok();
        let counts = self.threads.ids().filter_map(|tid| Some((tid, switches::parse(&read(tid)?)?))).collect();
        let busiest = self.switches.too_many(monotonic_ns(), counts);
        if !busiest.is_empty() {
            self.take(false, found);
            self.count(found);
            busiest.into_iter().for_each(|tid| self.threads.leave(tid));
        }
    }

    /// Writes the counts that changed.
    fn count(&mut self, found: &mut Recording) {
        self.rows.read();
        for (tid, faults) in self.threads.counts() {
            self.rows.count(found, tid, faults);
        }
        let histogram = &self.histogram;
        self.rows.count_by_latency(found, |bucket| histogram[bucket as usize]);
    }

    fn tell_losses(&self, found: &mut Recording) {
        let says = format!(
            "what page faults waited for in the kernel, the callers of minor ones and the first tenth of a second of new threads are not known: {}",
            self.why
        );
        found.add_loss(NAME, loss::REFUSED, 0, &says);
        for (kind, count, says) in self.threads.losses() {
            if count > 0 {
                found.add_loss(NAME, kind, count as i64, &says);
            }
        }
    }
}
