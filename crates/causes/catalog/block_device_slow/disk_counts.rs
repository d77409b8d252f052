//! Kernel counters per disk (`/proc/diskstats`; iostat, sar, node_exporter): mean request time, the kernel's queue included.
//!
//! With `n` requests in flight a serial device takes `n` times as long for each, and larger requests take longer: a device
//! is suspected only beyond that. The counts show neither the queue's part nor whose requests they were.

use fathom_evidence::kinds::counter;
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Wait};

use crate::cause::{Finding, Support};
use crate::comparison::Comparison;
use crate::format;
use crate::measure::block_io::{self, LONG_FOR_ANY_DISK_NS, MIN_STAGE_RATIO, UNCHANGED_WITHIN};
use crate::period::Period;

/// Fewer requests than this have no mean that says anything: one that waits for a flush is as long as many others.
const MIN_REQUESTS: f64 = 10.0;

/// Disks whose requests took less than this part of what threads waited in all: they waited for something else.
const MIN_SHARE_OF_WAITS: f64 = 0.5;

/// Requests of one operation to a disk.
#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    count: f64,
    time_ns: f64,
    bytes: f64,
    /// In flight while any was.
    depth: f64,
}

impl Requests {
    fn of(period: &Period<'_>, instance: &str) -> Requests {
        let rise = |name: &str, instance: &str| period.rise(&period.sources.counter(name, instance));
        let device = instance.rsplit_once(' ').map_or(instance, |(device, _)| device);
        let busy_ns = rise(counter::DISK_BUSY_NS, device);
        let in_flight_ns = rise(counter::DISK_QUEUE_TIME_NS, device);
        Requests {
            count: rise(counter::DISK_REQUESTS_COUNT, instance),
            time_ns: rise(counter::DISK_TIME_NS, instance),
            bytes: rise(counter::DISK_BYTES, instance),
            depth: if busy_ns > 0.0 { (in_flight_ns / busy_ns).max(1.0) } else { 1.0 },
        }
    }

    fn mean_ns(self) -> f64 {
        self.time_ns / self.count.max(1.0)
    }

    fn mean_bytes(self) -> f64 {
        self.bytes / self.count.max(1.0)
    }

    /// How many times as long as before one takes, beyond what depth and size make of it.
    fn slower_than(self, before: Requests) -> f64 {
        let deeper = (self.depth / before.depth).max(1.0);
        let larger = if before.bytes > 0.0 { (self.mean_bytes() / before.mean_bytes()).max(1.0) } else { 1.0 };
        self.mean_ns() / before.mean_ns().max(1.0) / deeper / larger
    }
}

/// What the counts say of a slow device; nothing where there are none.
pub(super) fn decide(comparison: &Comparison<'_>) -> Option<Finding> {
    let (instance, slow) = worst(&comparison.slow)?;
    let before = comparison.baseline.as_ref().map(|baseline| Requests::of(baseline, &instance));
    let before = before.filter(|before| before.count >= MIN_REQUESTS);
    let says = says(&instance, slow, before);
    if before.is_some_and(|before| slow.mean_ns() < UNCHANGED_WITHIN * before.mean_ns()) {
        return Some(Finding::needs_kernel(&format!("{says}; a mean does not show the few that may have been slow")));
    }
    let is_long = before.is_some() || slow.mean_ns() >= LONG_FOR_ANY_DISK_NS;
    let waits: Vec<(Wait, Span)> = block_io::victims(comparison, &comparison.slow).collect();
    Some(match is_long && !waits.is_empty() {
        true => suspected(comparison, (slow, before), &waits, &says),
        false => Finding::needs_kernel(&format!("{says}; whether threads waited for them was not recorded")),
    })
}

/// Threads waited for files while requests took longer.
fn suspected(
    comparison: &Comparison<'_>,
    (slow, before): (Requests, Option<Requests>),
    waits: &[(Wait, Span)],
    says: &str,
) -> Finding {
    let waited_ns: f64 = waits.iter().map(|(_, wait)| wait.duration_ns.max(0) as f64).sum();
    let fits = before.is_some_and(|before| slow.slower_than(before) >= MIN_STAGE_RATIO)
        && slow.time_ns >= MIN_SHARE_OF_WAITS * waited_ns;
    let support = if fits { Support::Consistent } else { Support::Weak };
    let own = waits.iter().map(|(wait, span)| {
        let time = Intervals::union(vec![(span.time_ns, span.end_ns())]);
        (*wait, span.tid, time)
    });
    let claims = block_io::claims_of(own);
    let means = (slow.mean_ns(), before.map(Requests::mean_ns));
    let evidence = comparison
        .evidence("mean time of a request, in the queue and at the device", means, "ns", "counters")
        .of(&[counter::DISK_TIME_NS, counter::DISK_REQUESTS_COUNT]);
    let text =
        format!("threads wait for files, and {says}; the kernel's queue or the device: counts do not tell which");
    Finding { claims, ..Finding::new(support, text) }.with(evidence)
}

/// The disk and operation whose requests took most time in all. No thread waits for what is discarded.
fn worst(period: &Period<'_>) -> Option<(String, Requests)> {
    let instances = period.sources.counters(counter::DISK_TIME_NS).into_keys();
    let names = instances.map(|(instance, _)| period.sources.recording.text(instance).to_owned());
    let all = names.filter(|name| !name.ends_with(" discard")).map(|name| {
        let requests = Requests::of(period, &name);
        (name, requests)
    });
    let counted = all.filter(|(_, requests)| requests.count >= MIN_REQUESTS);
    counted.max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns).then(b.0.cmp(&a.0)))
}

/// `requests of vdb (read) took 300 ms each instead of 2 ms, with 4 in flight instead of 1`.
fn says(instance: &str, slow: Requests, before: Option<Requests>) -> String {
    let (device, operation) = instance.rsplit_once(' ').unwrap_or((instance, "all"));
    let was = format::instead_of(before.map(Requests::mean_ns));
    let depth = before.map_or(String::new(), |before| format!(" instead of {}", format::number(before.depth)));
    format!(
        "requests to {device} ({operation}) took {} each{was}, with {} in flight{depth}",
        format::time(slow.mean_ns()),
        format::number(slow.depth)
    )
}
