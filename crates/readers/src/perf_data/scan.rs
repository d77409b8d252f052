//! The first pass: which process the samples are of, what it has mapped, whether its times can be placed. Knows no evidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use linux_perf_event_reader::{ClockId, RawData, RawEventRecord, RecordType};
use rustc_hash::FxHashMap;

use crate::input::Input;
use crate::perf_data::attributes::Attribute;
use crate::perf_data::container::{About, ClockPair, Container};
use crate::perf_data::notes::{Mapped, Note};
use crate::perf_data::records::{self, Record};
use crate::perf_data::sample::Sample;

/// Processes, threads and mappings that are kept of each kind.
const ROWS_MAX: usize = 1_000_000;

/// A process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) samples: usize,
    has_libjvm: bool,
    pub(super) mappings: BTreeMap<u64, Mapped>,
}

/// What was found.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) about: About,
    pub(super) processes: FxHashMap<i32, Process>,
    /// Of which process threads are, and their names.
    pub(super) threads: FxHashMap<i32, (i32, Vec<u8>)>,
    /// Where the kernel and its modules are.
    pub(super) kernel: BTreeMap<u64, Mapped>,
    pub(super) lost: u64,
    /// Why reading ended early.
    pub(super) damage: Option<String>,
    rows: usize,
}

impl Scan {
    pub(super) fn of(file: &Input, container: &mut Container) -> Scan {
        let mut scan = Scan::default();
        let mut about = std::mem::take(&mut container.about);
        scan.damage = records::read(file, container, &mut about, &mut |about, record| scan.record(about, record));
        scan.about = about;
        scan
    }

    fn record(&mut self, about: &About, record: Record<'_>) {
        if record.kind == records::FINISHED_ROUND {
            return;
        }
        if record.kind == RecordType::SAMPLE.0 {
            return self.sample(about, &record);
        }
        let Some(endian) = about.attributes.first().map(|attribute| attribute.parse_info.endian) else { return };
        match Note::parse(&record, endian) {
            Some(Note::Map { pid, start, mapped }) => self.map(pid, start, mapped),
            Some(Note::Name { pid, tid, name }) if self.threads.len() < ROWS_MAX => {
                self.threads.insert(tid, (pid, name));
            }
            Some(Note::Lost(samples)) => self.lost = self.lost.saturating_add(samples),
            _ => {}
        }
    }

    fn sample(&mut self, about: &About, record: &Record<'_>) {
        let Some((sample, _)) = sample(about, record) else { return };
        let pid = sample.ids.map_or(-1, |(pid, _)| pid);
        if self.processes.len() < ROWS_MAX || self.processes.contains_key(&pid) {
            self.processes.entry(pid).or_default().samples += 1;
        }
    }

    fn map(&mut self, pid: i32, start: u64, mapped: Mapped) {
        self.rows += 1;
        if self.rows >= ROWS_MAX {
            return;
        }
        let end = mapped.end;
        if pid == -1 {
            self.kernel.insert(start, mapped);
            return;
        }
        let process = self.processes.entry(pid).or_default();
        process.has_libjvm |= mapped.path.ends_with(b"/libjvm.so");
        // What was there before is gone.
        let under: Vec<u64> =
            process.mappings.range(..end).rev().take_while(|(_, old)| old.end > start).map(|(at, _)| *at).collect();
        under.iter().for_each(|at| drop(process.mappings.remove(at)));
        process.mappings.insert(start, mapped);
    }

    /// The JVM with the most samples, or else the process with the most.
    pub(super) fn chosen(&self) -> Option<i32> {
        let with_samples = self.processes.iter().filter(|(_, process)| process.samples > 0);
        let most = with_samples.max_by_key(|(pid, process)| (process.has_libjvm, process.samples, Reverse(**pid)));
        most.map(|(pid, _)| *pid)
    }

    /// Whether times are those of the clock that does not jump.
    pub(super) fn is_monotonic(&self) -> bool {
        self.about.attributes.iter().all(|attribute| attribute.clock == Some(ClockId::Monotonic))
    }

    /// What is added to the time of a record for that of the wall clock, in ns; `None` where nothing tells.
    pub(super) fn to_wall_ns(&self) -> Option<i64> {
        let is_wall = |clock: Option<ClockId>| matches!(clock, Some(ClockId::Realtime | ClockId::RealtimeCoarse));
        let mut clocks = self.about.attributes.iter().map(|attribute| attribute.clock);
        if self.about.attributes.is_empty() || clocks.clone().any(|clock| clock.is_none()) {
            return None;
        }
        if clocks.all(is_wall) {
            return Some(0);
        }
        let ClockPair { wall_ns, clock_ns } = self.about.clock?;
        i64::try_from(i128::from(wall_ns) - i128::from(clock_ns)).ok()
    }
}

/// A sample, if it is whole, and the event that it is of: read as another event's it would be nonsense.
pub(super) fn sample<'a, 'b>(about: &'b About, record: &Record<'a>) -> Option<(Sample<'a>, &'b Attribute)> {
    let first = about.attributes.first()?.parse_info;
    let raw = RawEventRecord::new(RecordType(record.kind), record.misc, RawData::Single(record.body), first);
    let attribute = about.of_id(|| raw.id())?;
    Some((Sample::parse(attribute, record.body)?, attribute))
}
