//! Requests, bytes and times of the machine's block devices, from `/proc/diskstats`.
//!
//! Whole devices only, including those made of others (device-mapper, RAID, loop). A request to such a device is also a
//! request to its parts, so devices must not be added up. The device of the JVM's files is a fact (collector `facts`).

mod parse;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use crate::changed_counters::ChangedCounters;
use crate::procfs::ProcFile;
use crate::rate_limit::RateLimit;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::{Disk, Requests};

const SOURCE: &str = "disks";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// What `diskstats` counts in, whatever the device.
const SECTOR_BYTES: f64 = 512.0;

pub(crate) static COLLECTOR: Disks = Disks;

/// The collector of block devices.
pub(crate) struct Disks;

impl Collector for Disks {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "requests, bytes, times and queues of block devices"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        open().map(|_| ())
    }

    fn start(&self, _target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Ok(Box::new(Watch {
            clock: order.clock,
            numbers: ChangedCounters::new(SOURCE),
            buffer: Vec::new(),
            file: open()?,
            limit: RateLimit::every(PERIOD),
            is_whole: HashMap::new(),
        }))
    }
}

fn open() -> Result<ProcFile, Refusal> {
    ProcFile::open("/proc/diskstats").map_err(|error| Refusal::new(format!("/proc/diskstats: {error}"), ""))
}

/// Block devices, being watched.
struct Watch {
    clock: Clock,
    numbers: ChangedCounters,
    buffer: Vec<u8>,
    file: ProcFile,
    limit: RateLimit,
    /// By name: whether it is a device and no partition.
    is_whole: HashMap<String, bool>,
}

fn take(numbers: &mut ChangedCounters, found: &mut Recording, at_ns: i64, disk: &Disk<'_>) {
    let mut see = |name, instance: &str, value: f64| numbers.see(found, at_ns, name, instance, value);
    see(counter::DISK_IN_FLIGHT_COUNT, disk.name, disk.in_flight as f64);
    see(counter::DISK_BUSY_NS, disk.name, disk.busy_ms as f64 * 1e6);
    see(counter::DISK_QUEUE_TIME_NS, disk.name, disk.queue_time_ms as f64 * 1e6);
    let mut see_requests = |operation: &str, requests: &Requests| {
        let instance = format!("{} {operation}", disk.name);
        see(counter::DISK_REQUESTS_COUNT, &instance, requests.count as f64);
        see(counter::DISK_MERGED_COUNT, &instance, requests.merged as f64);
        see(counter::DISK_BYTES, &instance, requests.sectors as f64 * SECTOR_BYTES);
        see(counter::DISK_TIME_NS, &instance, requests.time_ms as f64 * 1e6);
    };
    see_requests("read", &disk.read);
    see_requests("write", &disk.write);
    disk.discard.iter().for_each(|discard| see_requests("discard", discard));
    if let Some((count, time_ms)) = disk.flush {
        let instance = format!("{} flush", disk.name);
        see(counter::DISK_REQUESTS_COUNT, &instance, count as f64);
        see(counter::DISK_TIME_NS, &instance, time_ms as f64 * 1e6);
    }
}

/// Whether sysfs has the device as a whole one. A `/` in a name is a `!` there.
fn is_whole(name: &str) -> bool {
    Path::new("/sys/block").join(name.replace('/', "!")).exists()
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let at_ns = self.clock.now_ns();
        let Some(reading) = self.limit.begin(at_ns) else { return };
        let Ok(text) = self.file.read(&mut self.buffer) else { return };
        for disk in parse::disks(text).filter(Disk::is_used) {
            let whole = match self.is_whole.get(disk.name) {
                Some(whole) => *whole,
                None => *self.is_whole.entry(disk.name.to_owned()).or_insert_with(|| is_whole(disk.name)),
            };
            if whole {
                take(&mut self.numbers, found, at_ns, &disk);
            }
        }
        self.limit.end(reading);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.limit.due_now();
        self.look(found);
        self.numbers.close(found);
        self.limit.tell(found, SOURCE, "/proc/diskstats");
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_used_device_is_seen() {
        let target = Target::of(std::process::id()).unwrap();
        let mut found = Recording::default();
        let mut watch = Disks.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
        watch.look(&mut found);
        watch.finish(&mut found);
        let text = fs::read("/proc/diskstats").unwrap();
        let used: Vec<Disk<'_>> = parse::disks(&text).filter(|disk| disk.is_used() && is_whole(disk.name)).collect();
        let name = found.strings.find(counter::DISK_REQUESTS_COUNT);
        for disk in &used {
            let instance = found.strings.find(&format!("{} read", disk.name));
            let rows = found.counters.rows().filter(|row| Some(row.name) == name && Some(row.instance) == instance);
            let seen = rows.map(|row| row.value).fold(-1.0, f64::max);
            assert!(seen >= 0.0 && seen <= disk.read.count as f64, "{}: {seen} of {}", disk.name, disk.read.count);
        }
        assert_eq!(used.is_empty(), name.is_none(), "every used device and no other");
    }
}
