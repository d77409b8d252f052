//! The first reading: of which process the samples are, what it has mapped, and whether its times can be placed. Knows no evidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use linux_perf_event_reader::{
    ClockId, EventRecord, Mmap2FileId, RawData, RawEventRecord, RecordParseInfo, RecordType, SampleFormat,
};
use rustc_hash::FxHashMap;

use crate::bytes::{Bytes, until_zero};
use crate::perf_data::attributes::Attribute;
use crate::perf_data::container::{About, ClockPair, Container};
use crate::perf_data::records::{self, Record};

/// Processes, threads and mappings that are kept of each kind.
const ROWS_MAX: usize = 1_000_000;

/// A piece of a file in the memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) end: u64,
    pub(super) file_offset: u64,
    pub(super) path: Vec<u8>,
    pub(super) file: Known,
}

/// What perf noted of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    BuildId(Vec<u8>),
    Inode { major: u32, minor: u32, inode: u64 },
    Nothing,
}

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
    pub(super) fn of(file: &[u8], container: &mut Container) -> Scan {
        let mut scan = Scan::default();
        let mut about = std::mem::take(&mut container.about);
        scan.damage = records::read(file, container, &mut about, &mut |about, record| scan.record(about, record));
        scan.about = about;
        scan
    }

    fn record(&mut self, about: &About, record: Record<'_>) {
        self.lost = self.lost.saturating_add(lost_samples(about, &record));
        let Some((parsed, _)) = parse(about, &record) else { return };
        match parsed {
            EventRecord::Mmap(map) => {
                let path = map.path.as_slice().into_owned();
                self.map(map.pid, map.address, (map.length, map.page_offset), path, Known::Nothing);
            }
            EventRecord::Mmap2(map) => {
                let file = match map.file_id {
                    Mmap2FileId::BuildId(id) => Known::BuildId(id),
                    Mmap2FileId::InodeAndVersion(of) => {
                        Known::Inode { major: of.major, minor: of.minor, inode: of.inode }
                    }
                };
                let path = map.path.as_slice().into_owned();
                self.map(map.pid, map.address, (map.length, map.page_offset), path, file);
            }
            EventRecord::Comm(comm) if self.threads.len() < ROWS_MAX => {
                self.threads.insert(comm.tid, (comm.pid, until_zero(&comm.name.as_slice()).to_vec()));
            }
            EventRecord::Lost(lost) => self.lost = self.lost.saturating_add(lost.count),
            EventRecord::Sample(sample) => {
                let pid = sample.pid.unwrap_or(-1);
                if self.processes.len() < ROWS_MAX || self.processes.contains_key(&pid) {
                    self.processes.entry(pid).or_default().samples += 1;
                }
            }
            _ => {}
        }
    }

    fn map(&mut self, pid: i32, start: u64, (length, file_offset): (u64, u64), path: Vec<u8>, file: Known) {
        self.rows += 1;
        let Some(end) = start.checked_add(length).filter(|_| length > 0 && self.rows < ROWS_MAX) else { return };
        let path = until_zero(&path).to_vec();
        let mapped = Mapped { end, file_offset, path, file };
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

/// A record of the kernel, if it is whole, and the event that it is of.
pub(super) fn parse<'a, 'b>(about: &'b About, record: &Record<'a>) -> Option<(EventRecord<'a>, Option<&'b Attribute>)> {
    let kind = RecordType(record.kind);
    let of = |data: RawData<'a>, info: RecordParseInfo| RawEventRecord::new(kind, record.misc, data, info);
    let first = about.attributes.first()?.parse_info;
    let raw = of(RawData::Single(record.body), first);
    let own = about.of_id(raw.id());
    if kind != RecordType::SAMPLE {
        let parse_info = own.map_or(first, |own| own.parse_info);
        return Some((of(RawData::Single(record.body), parse_info).parse().ok()?, own));
    }
    // A sample that is read as another event's would be nonsense.
    let own = own?;
    let (data, parse_info) = sample(own, record.body)?;
    Some((of(data, parse_info).parse().ok()?, Some(own)))
}

/// Samples that the kernel could not write, but for those that a BPF program did not want.
fn lost_samples(about: &About, record: &Record<'_>) -> u64 {
    const BY_BPF: u16 = 1 << 15;
    let is_loss = record.kind == RecordType::LOST_SAMPLES.0 && record.misc & BY_BPF == 0;
    let endian = about.attributes.first().filter(|_| is_loss).map(|attribute| attribute.parse_info.endian);
    endian.and_then(|endian| Bytes::new(record.body, endian).u64()).unwrap_or(0)
}

/// What a sample has before its chain of callers, each in eight bytes.
const BEFORE_CHAIN: SampleFormat = SampleFormat::IDENTIFIER
    .union(SampleFormat::IP)
    .union(SampleFormat::TID)
    .union(SampleFormat::TIME)
    .union(SampleFormat::ADDR)
    .union(SampleFormat::ID)
    .union(SampleFormat::STREAM_ID)
    .union(SampleFormat::CPU)
    .union(SampleFormat::PERIOD);

/// A sample without the values of counters that stand before its chain, if it has as many callers as it says: the library multiplies
/// before it looks.
fn sample<'a>(of: &Attribute, body: &'a [u8]) -> Option<(RawData<'a>, RecordParseInfo)> {
    let mut info = of.parse_info;
    let before_bytes = info.sample_format.intersection(BEFORE_CHAIN).bits().count_ones() as usize * 8;
    let (before, rest) = body.split_at_checked(before_bytes)?;
    let values_bytes = of.values.map_or(Some(0), |values| values.bytes(rest, info.endian))?;
    let chain = rest.get(values_bytes..)?;
    if info.sample_format.contains(SampleFormat::CALLCHAIN) {
        let mut bytes = Bytes::new(chain, info.endian);
        let callers = bytes.size()?;
        (callers <= bytes.rest().len() / 8).then_some(())?;
    }
    info.sample_format.remove(SampleFormat::READ);
    Some((if values_bytes == 0 { RawData::Single(body) } else { RawData::Split(before, chain) }, info))
}
