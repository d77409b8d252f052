//! Page faults with their latency, thread, place and stacks.
//!
//! A fault that waits for a disk stops one thread for as long as the disk takes, and no profiler of
//! CPU time shows it. Faults are told by how long they took, never by whether the kernel calls them
//! major: waiting for a page that somebody else is reading counts as minor. Every fault is counted in
//! the kernel; only those above the threshold leave it, with what the thread waited for there, and
//! its registers and a copy of its stack, as the code that faults first (loader, C library) has no
//! frame pointers.

mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, PageFault};
use fathom_evidence::kinds::{counter, loss, span};
use fathom_evidence::tables::Span;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::bpf::{FaultEvent, Part, Programs, Recipe, Ring, Rise, Rises, Table, counter_of, words};
use crate::clock::monotonic_ns;
use crate::pace::Pace;
use crate::symbols::Symbols;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::{SlowFault, ThreadFaults};

const NAME: &str = "page_faults";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page_faults.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

/// Counts are written so often.
const COUNT_PERIOD: Duration = Duration::from_secs(1);

/// Powers of two of the histogram in the kernel.
const BUCKETS: u32 = 40;

pub(crate) static COLLECTOR: PageFaults = PageFaults;

/// The collector.
pub(crate) struct PageFaults;

impl Collector for PageFaults {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "page faults with their latency, file and section, user stack, and kernel stack of the wait"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target, i64::MAX).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let programs = attached(target, order.page_fault_ns)?;
        let observer = Faults {
            ring: Ring::new(&programs.map("slow")?)?,
            threads: Table::new(programs.map("threads")?),
            histogram: programs.map("histogram")?,
            programs,
            symbols: Symbols::of(target, &order.images),
            clock: order.clock,
            target: target.clone(),
            pace: Pace::every(COUNT_PERIOD),
            counted: Rises::new(order.clock.now_ns()),
            buckets: Rises::new(order.clock.now_ns()),
        };
        Ok(Box::new(observer))
    }
}

/// The programs at work.
fn attached(target: &Target, threshold_ns: i64) -> Result<Programs, Refusal> {
    let mut config = threshold_ns.to_ne_bytes().to_vec();
    config.extend(target.pid.to_ne_bytes());
    config.extend([0; 4]);
    let sizes = [("threads", room(target.thread_ids().len()))];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[] })?;
    // Waits and ends first: a beginning that is seen must find its end.
    programs.attach_tracepoints()?;
    programs.attach_event("fault_served_major", FaultEvent::ServedMajor)?;
    programs.attach_event("fault_served_minor", FaultEvent::ServedMinor)?;
    programs.attach_event("fault_begins", FaultEvent::Begins)?;
    Ok(programs)
}

/// Entries for a process with `threads` threads, which may have more later.
fn room(threads: usize) -> u32 {
    (threads * 2).next_power_of_two().clamp(2048, 1 << 16) as u32
}

struct Faults {
    programs: Programs,
    ring: Ring,
    threads: Table,
    histogram: MapHandle,
    symbols: Symbols,
    clock: Clock,
    target: Target,
    pace: Pace,
    /// By thread.
    counted: Rises<u32, ThreadFaults>,
    /// By power of two.
    buckets: Rises<u32, u64>,
}

impl Observer for Faults {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.take_slow_ones(found);
        if let Some(reading) = self.pace.begin(monotonic_ns()) {
            self.count(found);
            self.pace.end(reading);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take_slow_ones(found);
        self.count(found);
        self.tell_losses(found);
        self.pace.tell(found, NAME, "the counts of all threads");
        self.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl Faults {
    fn take_slow_ones(&mut self, found: &mut Recording) {
        for event in self.ring.take() {
            if let Some(fault) = SlowFault::parse(&event) {
                self.add_slow_one(&fault, found);
            }
        }
    }

    fn add_slow_one(&mut self, fault: &SlowFault<'_>, found: &mut Recording) {
        let stack_id = self.symbols.user_stack(found, &fault.user.stack());
        let bound = self.symbols.call_being_bound();
        let place = self.symbols.place(fault.address);
        let detail = PageFault {
            address: Some(fault.address),
            instruction: Some(fault.user.instruction()),
            instruction_path: self.symbols.place(fault.user.instruction()).path,
            // Memory without a file is told by its kind.
            path: Some(place.path.unwrap_or_else(|| place.name.clone())),
            section: place.section,
            file_offset: place.file_offset,
            major: Some(fault.major),
            in_kernel: fault.in_kernel.then_some(true),
            off_cpu_ns: Some(fault.off_cpu_ns),
            being_bound: bound.as_ref().map(|call| call.function.clone()),
            call_site: bound.as_ref().map(|call| call.call_site.clone()),
            call_instruction: bound.map(|call| call.instruction),
        };
        let row = Span {
            time_ns: self.clock.wall_ns(fault.began_ns),
            duration_ns: fault.duration_ns,
            tid: i64::from(fault.tid),
            kind: found.strings.intern(span::PAGE_FAULT),
            name: found.strings.intern(&place.name),
            stack_id,
            kernel_stack_id: self.symbols.kernel_stack(found, &fault.kernel),
            detail: found.strings.intern(&detail::to_text(&detail)),
            source: found.strings.intern(NAME),
        };
        found.spans.push(row);
    }

    /// Writes the counts that changed.
    fn count(&mut self, found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        self.threads.read();
        self.counted.read(now_ns);
        for (key, value) in self.threads.rows() {
            if let Some(rise) = self.counted.see(tid(key), ThreadFaults::parse(value)) {
                add_thread(tid(key), &rise, found);
            }
        }
        self.forget_ended_threads();
        self.buckets.read(now_ns);
        for bucket in 0..BUCKETS {
            let faults = self.in_bucket(bucket);
            if let Some(rise) = self.buckets.see(bucket, faults) {
                let at_least_ns = (1_u64 << bucket).to_string();
                let row = counter_of(found, counter::PAGE_FAULTS_BY_LATENCY_COUNT, &at_least_ns, 0, NAME);
                rise.write(found, &row, |faults| *faults);
            }
        }
    }

    /// Faults of a power of two, over all CPUs.
    fn in_bucket(&self, bucket: u32) -> u64 {
        let read = self.histogram.lookup_percpu(&bucket.to_ne_bytes(), MapFlags::ANY);
        let per_cpu = read.ok().flatten().unwrap_or_default();
        per_cpu.iter().filter_map(|value| words(value).next()).sum()
    }

    /// Makes room when threads come and go.
    fn forget_ended_threads(&mut self) {
        if self.threads.is_filling() {
            let alive = self.target.thread_ids();
            self.threads.forget_ended(&alive);
            self.counted.retain(|tid| alive.contains(tid));
        }
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

fn tid(key: &[u8]) -> u32 {
    key.try_into().map_or(0, u32::from_ne_bytes)
}

fn add_thread(tid: u32, rise: &Rise<ThreadFaults>, found: &mut Recording) {
    let numbers: [(&str, &str, Part<ThreadFaults>); 6] = [
        (counter::PAGE_FAULTS_COUNT, "minor", |faults| faults.minor),
        (counter::PAGE_FAULTS_COUNT, "major", |faults| faults.major),
        (counter::PAGE_FAULTS_COUNT, "unserved", |faults| faults.unserved),
        (counter::PAGE_FAULTS_COUNT, "repeated", |faults| faults.repeated),
        (counter::PAGE_FAULTS_NS, "", |faults| faults.time_ns),
        (counter::PAGE_FAULTS_NS, "in vain", |faults| faults.in_vain_ns),
    ];
    for (name, instance, number) in numbers {
        let row = counter_of(found, name, instance, tid, NAME);
        rise.write(found, &row, number);
    }
}

#[cfg(test)]
mod tests;
