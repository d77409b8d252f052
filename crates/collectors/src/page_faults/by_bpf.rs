//! Page faults seen by programs in the kernel: every one is counted there, and only slow ones leave it.

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::parse::{SlowFault, THREAD_WORDS, ThreadFaults};
use super::rows::Rows;
use super::{COUNT_PERIOD, NAME};
use crate::bpf::{Programs, Recipe, Ring, SlotTable, words};
use crate::clock::monotonic_ns;
use crate::perf::{FaultEvent, Occasion};
use crate::rate_limit::RateLimit;
use crate::{Observer, Order, Refusal, Target};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page_faults.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

/// The programs at work.
pub(super) fn attached(target: &Target, threshold_ns: i64) -> Result<Programs, Refusal> {
    let mut config = threshold_ns.to_ne_bytes().to_vec();
    config.extend(target.pid.to_ne_bytes());
    config.extend([0; 4]);
    let sizes = [("threads", room(target.thread_ids().len()))];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[], spare: &[] })?;
    // Waits and ends first: a beginning that is seen must find its end.
    programs.attach_tracepoints()?;
    programs.attach_event("fault_served_major", Occasion::Fault(FaultEvent::ServedMajor))?;
    programs.attach_event("fault_served_minor", Occasion::Fault(FaultEvent::ServedMinor))?;
    programs.attach_event("fault_begins", Occasion::Fault(FaultEvent::Begins))?;
    Ok(programs)
}

/// Entries for a process with `threads` threads, which may have more later.
fn room(threads: usize) -> u32 {
    (threads * 2).next_power_of_two().clamp(2048, 1 << 16) as u32
}

/// Begins to observe.
pub(super) fn start(target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
    let programs = attached(target, order.page_fault_ns)?;
    Ok(Box::new(ByBpf {
        ring: Ring::new(&programs.map("slow")?)?,
        threads: SlotTable::new(&programs, "threads")?,
        histogram: programs.map("histogram")?,
        programs,
        rows: Rows::new(target, order),
        target: target.clone(),
        limit: RateLimit::every(COUNT_PERIOD),
    }))
}

struct ByBpf {
    programs: Programs,
    ring: Ring,
    threads: SlotTable<THREAD_WORDS>,
    histogram: MapHandle,
    rows: Rows,
    target: Target,
    limit: RateLimit,
}

impl Observer for ByBpf {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.take_slow_ones(found);
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.count(found);
            self.limit.end(reading);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take_slow_ones(found);
        self.count(found);
        self.tell_losses(found);
        self.limit.tell(found, NAME, "the counts of all threads");
        self.rows.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl ByBpf {
    fn take_slow_ones(&mut self, found: &mut Recording) {
        for event in self.ring.take() {
            if let Some(slow) = SlowFault::parse(&event) {
                self.rows.add(found, slow.tid, &slow.fault(), Some(&slow.user.stack()), &slow.kernel);
            }
        }
    }

    /// Writes the counts that changed, and makes room when threads come and go.
    fn count(&mut self, found: &mut Recording) {
        // A thread that has ended takes no more faults, so that its last counts are read before it is forgotten.
        let ended = self.threads.is_filling().then(|| self.target.ended_among(self.threads.tids()));
        self.threads.read();
        self.rows.read();
        for row in self.threads.rows() {
            self.rows.count(found, row[0] as u32, ThreadFaults::parse(row));
        }
        if let Some(ended) = ended {
            self.threads.forget(&ended);
            self.rows.retain(|tid| !ended.contains(tid));
        }
        let histogram = &self.histogram;
        self.rows.count_by_latency(found, |bucket| in_bucket(histogram, bucket));
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "slow page faults came faster than they could be taken over: they are counted but are no spans",
            ),
            (loss::EVENTS_LOST, "page faults of threads beyond the number that is counted"),
            (
                loss::EVENTS_LOST,
                "page faults whose beginning was not seen, mostly because they had begun before the recording",
            ),
        ];
        self.programs.tell_losses(found, NAME, lost);
    }
}

/// Faults of a power of two, over all CPUs.
fn in_bucket(histogram: &MapHandle, bucket: u32) -> u64 {
    let read = histogram.lookup_percpu(&bucket.to_ne_bytes(), MapFlags::ANY);
    let per_cpu = read.ok().flatten().unwrap_or_default();
    per_cpu.iter().filter_map(|value| words(value).next()).sum()
}
