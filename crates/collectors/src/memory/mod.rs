//! Memory of the machine and of the target: faults, huge pages, reclaim, compaction, refaults, swap, pressure, and the
//! resident memory of the process.
//!
//! `smaps_rollup` is expensive: the kernel walks every page of the process, some ms per GiB, and before Linux 5.10 it
//! kept the process from mapping memory meanwhile. It is read at a pace that keeps its cost small, and on such kernels
//! not at all for a large process.

mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};
use rustix::system::uname;

use crate::changed_counters::ChangedCounters;
use crate::pressure;
use crate::procfs::ProcFile;
use crate::rate_limit::RateLimit;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::{VmStat, VmStatLines};

const SOURCE: &str = "memory";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// Time between two looks at `smaps_rollup`, which shows huge pages and shared memory; the resident size comes from
/// `status` each second.
const ROLLUP_PERIOD: Duration = Duration::from_secs(5);

/// First kernel whose `smaps_rollup` lets others map memory while it walks.
const ROLLUP_YIELDS_SINCE: (u32, u32) = (5, 10);

/// Up to this size a process is walked in a few ms, whatever the kernel.
const SMALL_BYTES: u64 = 1 << 30;

pub(crate) static COLLECTOR: Memory = Memory;

/// The collector of memory.
pub(crate) struct Memory;

impl Collector for Memory {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "memory of the machine and the process: faults, reclaim, huge pages, swap, pressure"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        open("/proc/vmstat".into()).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let pressure =
            |resource: &'static str| Some((resource, ProcFile::open(format!("/proc/pressure/{resource}")).ok()?));
        let second = || RateLimit::every(Duration::from_secs(1));
        Ok(Box::new(Watch {
            clock: order.clock,
            numbers: ChangedCounters::new(SOURCE),
            buffer: Vec::new(),
            page_bytes: rustix::param::page_size() as u64,
            vmstat: open("/proc/vmstat".into())?,
            vmstat_lines: VmStatLines::default(),
            vmstat_limit: RateLimit::every(PERIOD),
            pressure: ["cpu", "memory", "io"].into_iter().filter_map(pressure).collect(),
            meminfo: Slow { file: ProcFile::open("/proc/meminfo").ok(), limit: second() },
            status: Slow { file: ProcFile::open(target.proc("status")).ok(), limit: second() },
            rollup: Slow {
                file: ProcFile::open(target.proc("smaps_rollup")).ok(),
                limit: RateLimit::every(ROLLUP_PERIOD),
            },
            rollup_yields: kernel_is_since(ROLLUP_YIELDS_SINCE),
        }))
    }
}

fn open(path: PathBuf) -> Result<ProcFile, Refusal> {
    ProcFile::open(&path).map_err(|error| Refusal::new(format!("{}: {error}", path.display()), ""))
}

/// Whether the running kernel is of this version or a later one.
fn kernel_is_since(version: (u32, u32)) -> bool {
    let name = uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= version
}

/// A file that is read at intervals, or more rarely when that is dear.
#[derive(Debug)]
struct Slow {
    file: Option<ProcFile>,
    limit: RateLimit,
}

impl Slow {
    /// The text, if it is time for it.
    fn read<'a>(&mut self, now_ns: i64, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let file = self.file.as_ref()?;
        let reading = self.limit.begin(now_ns)?;
        let text = file.read(buffer).ok();
        self.limit.end(reading);
        text
    }
}

/// Memory, being watched.
struct Watch {
    clock: Clock,
    numbers: ChangedCounters,
    buffer: Vec<u8>,
    page_bytes: u64,
    vmstat: ProcFile,
    vmstat_lines: VmStatLines,
    vmstat_limit: RateLimit,
    pressure: Vec<(&'static str, ProcFile)>,
    meminfo: Slow,
    status: Slow,
    rollup: Slow,
    rollup_yields: bool,
}

impl Watch {
    fn look_at_vmstat(&mut self, found: &mut Recording) {
        let at_ns = self.clock.now_ns();
        let Some(reading) = self.vmstat_limit.begin(at_ns) else { return };
        let Ok(text) = self.vmstat.read(&mut self.buffer) else { return };
        for field in self.vmstat_lines.read(text) {
            let (name, instance, value) = match field {
                VmStat::Event(name, count) => (counter::VMSTAT_COUNT, name, count),
                VmStat::Pages(name, pages) => (counter::MEMINFO_BYTES, name, pages.saturating_mul(self.page_bytes)),
            };
            self.numbers.see(found, at_ns, name, instance, value as f64);
        }
        self.vmstat_limit.end(reading);
    }

    fn look_at_pressure(&mut self, found: &mut Recording) {
        for (resource, file) in &self.pressure {
            let at_ns = self.clock.now_ns();
            let Ok(text) = file.read(&mut self.buffer) else { continue };
            for (share, total_us) in pressure::totals_us(text) {
                let ns = total_us as f64 * 1e3;
                self.numbers.see(found, at_ns, counter::PRESSURE_NS, &format!("{resource} {share}"), ns);
            }
        }
    }

    fn look_at_sizes(&mut self, found: &mut Recording) {
        let Watch { numbers, buffer, meminfo, status, rollup, .. } = self;
        let at_ns = self.clock.now_ns();
        for (field, bytes) in meminfo.read(at_ns, buffer).into_iter().flat_map(parse::meminfo) {
            numbers.see(found, at_ns, counter::MEMINFO_BYTES, field, bytes as f64);
        }
        if let Some(text) = status.read(at_ns, buffer) {
            let resident_bytes = parse::resident_bytes(text).unwrap_or(0);
            numbers.see(found, at_ns, counter::RESIDENT_BYTES, "", resident_bytes as f64);
            for (part, bytes) in parse::status(text) {
                numbers.see(found, at_ns, counter::PROCESS_MEMORY_BYTES, part, bytes as f64);
            }
            if !self.rollup_yields && resident_bytes > SMALL_BYTES {
                rollup.file = None;
            }
        }
        for (part, bytes) in rollup.read(at_ns, buffer).into_iter().flat_map(parse::rollup) {
            numbers.see(found, at_ns, counter::PROCESS_MEMORY_BYTES, part, bytes as f64);
        }
    }
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.look_at_vmstat(found);
        self.look_at_pressure(found);
        self.look_at_sizes(found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        for limit in [&mut self.vmstat_limit, &mut self.meminfo.limit, &mut self.status.limit] {
            limit.due_now();
        }
        self.look(found);
        self.numbers.close(found);
        self.vmstat_limit.tell(found, SOURCE, "/proc/vmstat");
        self.meminfo.limit.tell(found, SOURCE, "/proc/meminfo");
        self.rollup.limit.tell(found, SOURCE, "smaps_rollup");
        if self.pressure.is_empty() {
            found.add_loss(
                SOURCE,
                loss::REFUSED,
                0,
                "this kernel does not measure pressure (PSI; psi=1 on its command line)",
            );
        }
        if self.rollup.file.is_none() {
            let says = "smaps_rollup could not be read, or would have held the process up on this kernel: huge pages of the process are not known";
            found.add_loss(SOURCE, loss::REFUSED, 0, says);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
