//! Numbers of sar's own file to counters.

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use super::parse_binary::{Activity, Entry, Item};
use crate::rates::{Id, Rates, Which};

const KIB: f64 = 1_024.0;
const SECTOR_BYTES: f64 = 512.0;
const MS_NS: f64 = 1e6;
const US_NS: f64 = 1e3;

/// Modes of CPUs, in the order in which the file has them.
const MODES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "steal", "irq", "softirq", "guest", "guest_nice"];

/// Fields of memory by their place, as /proc/meminfo has them.
const MEMORY: [(usize, &str); 6] =
    [(0, "MemFree"), (1, "Buffers"), (2, "Cached"), (3, "MemTotal"), (10, "Dirty"), (16, "MemAvailable")];

const PAGING: [(usize, &str); 6] =
    [(0, "pgpgin"), (1, "pgpgout"), (2, "pgfault"), (3, "pgmajfault"), (5, "pgscan_kswapd"), (6, "pgscan_direct")];

/// Follows the numbers of a file.
#[derive(Default)]
pub(super) struct Numbers {
    /// What each was last, and when.
    last: Vec<Option<(i64, f64)>>,
}

/// Where rows go.
pub(super) struct To<'a> {
    pub(super) recording: &'a mut Recording,
    pub(super) rates: &'a mut Rates,
    pub(super) source: &'static str,
}

impl Numbers {
    pub(super) fn see(&mut self, ticks_per_second: u64, entry: &Entry<'_>, to: &mut To<'_>) {
        match entry {
            Entry::Restart => self.last.clear(),
            Entry::Numbers(time_ns, activity, nth, item) => {
                let mut at = At { numbers: self, to, time_ns: *time_ns };
                at.take(*activity, *nth, item, 1e9 / ticks_per_second as f64);
            }
        }
    }
}

/// The numbers of an instant.
struct At<'a, 'b> {
    numbers: &'a mut Numbers,
    to: &'a mut To<'b>,
    time_ns: i64,
}

impl At<'_, '_> {
    fn take(&mut self, activity: Activity, nth: usize, item: &Item<'_>, tick_ns: f64) {
        match activity {
            Activity::Cpu => self.cpu(nth, item, tick_ns),
            Activity::Switches => {
                self.grows(counter::CONTEXT_SWITCHES_COUNT, "", item.wide(0), 1.0);
                self.grows(counter::TASKS_CREATED_COUNT, "", item.long(0), 1.0);
            }
            Activity::Swap => {
                self.grows(counter::VMSTAT_COUNT, "pswpin", item.long(0), 1.0);
                self.grows(counter::VMSTAT_COUNT, "pswpout", item.long(1), 1.0);
            }
            Activity::Paging => {
                PAGING.iter().for_each(|(at, field)| self.grows(counter::VMSTAT_COUNT, field, item.long(*at), 1.0));
            }
            Activity::Memory => self.memory(item),
            Activity::Queue => self.queue(item),
            Activity::Disk => self.disk(item),
            Activity::TcpErrors => self.grows(counter::NETWORK_COUNT, "Tcp RetransSegs", item.long(2), 1.0),
            Activity::PressureCpu => self.grows(counter::PRESSURE_NS, "cpu some", item.wide(0), US_NS),
            Activity::PressureIo => self.pressure(["io some", "io full"], item),
            Activity::PressureMemory => self.pressure(["memory some", "memory full"], item),
        }
    }

    /// The first one is all CPUs together; one that is off has zeros.
    fn cpu(&mut self, nth: usize, item: &Item<'_>, tick_ns: f64) {
        for (at, mode) in MODES.iter().enumerate() {
            match nth.checked_sub(1) {
                None => self.grows(counter::MACHINE_CPU_NS, mode, item.wide(at), tick_ns),
                Some(cpu) => self.grows(counter::ONE_CPU_NS, &format!("cpu{cpu} {mode}"), item.wide(at), tick_ns),
            }
        }
    }

    fn memory(&mut self, item: &Item<'_>) {
        MEMORY.iter().for_each(|(at, field)| self.now(counter::MEMINFO_BYTES, field, item.wide(*at), KIB));
        let used = item.wide(5).zip(item.wide(4)).map(|(all, free)| all.saturating_sub(free));
        self.now(counter::MEMORY_USED_BYTES, "swap", used, KIB);
    }

    fn queue(&mut self, item: &Item<'_>) {
        self.now(counter::TASKS_COUNT, "runnable", item.wide(0), 1.0);
        self.now(counter::TASKS_COUNT, "blocked", item.wide(1), 1.0);
        for (at, instance) in ["1 min", "5 min", "15 min"].iter().enumerate() {
            self.now(counter::LOAD_COUNT, instance, item.int(at), 0.01);
        }
    }

    /// The file has the numbers of a device and not its name. Requests are those of all operations together, which is no counter of an
    /// operation.
    fn disk(&mut self, item: &Item<'_>) {
        let Some((major, minor)) = item.int(4).zip(item.int(5)) else { return };
        let device = format!("dev{major}-{minor}");
        for (operation, sectors, ms) in [
            ("read", item.long(0), item.int(0)),
            ("write", item.long(1), item.int(1)),
            ("discard", item.long(2), item.int(6)),
        ] {
            let instance = format!("{device} {operation}");
            self.grows(counter::DISK_BYTES, &instance, sectors, SECTOR_BYTES);
            self.grows(counter::DISK_TIME_NS, &instance, ms, MS_NS);
        }
        self.grows(counter::DISK_BUSY_NS, &device, item.int(2), MS_NS);
        self.grows(counter::DISK_QUEUE_TIME_NS, &device, item.int(3), MS_NS);
    }

    fn pressure(&mut self, instances: [&str; 2], item: &Item<'_>) {
        for (at, instance) in instances.iter().enumerate() {
            self.grows(counter::PRESSURE_NS, instance, item.wide(at), US_NS);
        }
    }

    fn id(&mut self, name: &str, instance: &str) -> Id {
        self.to.rates.id(self.to.recording, self.to.source, Which { name, instance, tid: 0 })
    }

    fn now(&mut self, name: &str, instance: &str, value: Option<u64>, factor: f64) {
        let Some(value) = value else { return };
        let id = self.id(name, instance);
        self.to.rates.now(self.to.recording, id, self.time_ns, value as f64 * factor);
    }

    /// A number that only grows. What falls has begun anew, or is too large for the file.
    fn grows(&mut self, name: &str, instance: &str, value: Option<u64>, factor: f64) {
        let Some(value) = value.map(|value| value as f64 * factor) else { return };
        let id = self.id(name, instance);
        if self.numbers.last.len() <= id {
            self.numbers.last.resize(id + 1, None);
        }
        if let Some((last_ns, last)) = self.numbers.last[id].replace((self.time_ns, value)) {
            self.to.rates.add_to(self.to.recording, id, (last_ns, self.time_ns), value - last);
        }
    }
}
