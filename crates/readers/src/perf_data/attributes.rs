//! Which events were recorded. Knows no evidence.

use byteorder::{BigEndian, LittleEndian};
use linux_perf_event_reader::{
    ClockId, Endianness, HardwareEventId, PerfClock, PerfEventAttr, PerfEventType, RecordParseInfo, SamplingPolicy,
    SoftwareCounterType,
};

use crate::bytes::{Bytes, until_zero};
use crate::cycles;

/// More events than this no perf records.
const EVENTS_MAX: usize = 65_536;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The CPU's clock, whose period is in ns.
    Clock,
    /// Cycles and what is as frequent.
    Cycles,
    PageFault,
    /// The tracepoint with this number.
    Tracepoint(u64),
    Other,
}

/// Which numbers of counters stand in a sample (`:S`): the library takes those of groups for single ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Values {
    is_group: bool,
    /// Words that there is one of.
    once: usize,
    /// Words of each counter.
    each: usize,
}

impl Values {
    /// From the bytes of an attribute.
    fn parse(attr: &[u8], endian: Endianness) -> Option<Values> {
        const BEFORE_BYTES: usize = 24;
        const OF_SAMPLES: u64 = 1 << 4;
        let mut fields = Bytes::new(attr.get(BEFORE_BYTES..)?, endian);
        let (sample, read) = (fields.u64()?, fields.u64()?);
        let has = |bit: u32| usize::from(read >> bit & 1 == 1);
        // Times, ids, group, samples that were lost.
        let values = Values { once: has(0) + has(1), each: 1 + has(2) + has(4), is_group: has(3) == 1 };
        (sample & OF_SAMPLES != 0).then_some(values)
    }

    /// How many bytes they are at the beginning of `rest`.
    pub(super) fn bytes(self, rest: &[u8], endian: Endianness) -> Option<usize> {
        let (count, head) = if self.is_group { (Bytes::new(rest, endian).size()?, 1) } else { (1, 0) };
        count.checked_mul(self.each)?.checked_add(self.once + head)?.checked_mul(8)
    }
}

/// An event.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) meaning: Meaning,
    pub(super) parse_info: RecordParseInfo,
    /// The clock that was asked for; none is perf's own.
    pub(super) clock: Option<ClockId>,
    /// What of counters stands in each sample.
    pub(super) values: Option<Values>,
    /// For how many each sample stands, if that is fixed.
    pub(super) period: Option<u64>,
    pub(super) ids: Vec<u64>,
}

impl Attribute {
    /// From the bytes of an attribute; how many these are it says itself.
    pub(super) fn parse(bytes: &[u8], endian: Endianness) -> Option<Attribute> {
        let (attr, _) = match endian {
            Endianness::LittleEndian => PerfEventAttr::parse::<_, LittleEndian>(bytes),
            Endianness::BigEndian => PerfEventAttr::parse::<_, BigEndian>(bytes),
        }
        .ok()?;
        let period = match attr.sampling_policy {
            SamplingPolicy::Period(period) => Some(period.get()),
            _ => None,
        };
        let clock = match attr.clock {
            PerfClock::ClockId(clock) => Some(clock),
            PerfClock::Default => None,
        };
        let parse_info = RecordParseInfo::new(&attr, endian);
        let values = Values::parse(bytes, endian);
        Some(Attribute { meaning: meaning(attr.type_), parse_info, clock, values, period, ids: Vec::new() })
    }

    /// What the kind of an event does not say, its name may.
    pub(super) fn set_name(&mut self, name: &[u8]) {
        if self.meaning == Meaning::Other && cycles::are(name) {
            self.meaning = Meaning::Cycles;
        }
    }
}

fn meaning(kind: PerfEventType) -> Meaning {
    use SoftwareCounterType as Software;
    match kind {
        PerfEventType::Software(Software::CpuClock | Software::TaskClock) => Meaning::Clock,
        PerfEventType::Software(Software::PageFaults | Software::PageFaultsMaj | Software::PageFaultsMin) => {
            Meaning::PageFault
        }
        PerfEventType::Hardware(
            HardwareEventId::CpuCycles | HardwareEventId::RefCpuCycles | HardwareEventId::Instructions,
            _,
        ) => Meaning::Cycles,
        PerfEventType::Tracepoint(id) => Meaning::Tracepoint(id),
        _ => Meaning::Other,
    }
}

/// The section of attributes: each with the place of its ids in the file.
pub(super) fn of_section(section: &[u8], size: usize, file: &[u8], endian: Endianness) -> Vec<Attribute> {
    const IDS_BYTES: usize = 16;
    let Some(attr_bytes) = size.checked_sub(IDS_BYTES).filter(|bytes| *bytes > 0) else { return Vec::new() };
    let one = |entry: &[u8]| {
        let mut attribute = Attribute::parse(&entry[..attr_bytes], endian)?;
        let mut ids = Bytes::new(&entry[attr_bytes..], endian);
        let (offset, length) = (ids.size()?, ids.size()?);
        let ids = file.get(offset..offset.checked_add(length)?).unwrap_or_default();
        attribute.ids = all_ids(ids, endian);
        Some(attribute)
    };
    section.chunks_exact(size).take(EVENTS_MAX).filter_map(one).collect()
}

/// The feature of descriptions: number, size of an attribute, and for each one its bytes, ids and name.
pub(super) fn of_descriptions(section: &[u8], endian: Endianness) -> Vec<Attribute> {
    let mut bytes = Bytes::new(section, endian);
    let (Some(count), Some(size)) = (bytes.u32(), bytes.u32()) else { return Vec::new() };
    let one = || {
        let attr = bytes.take(size as usize)?;
        let ids_count = bytes.u32()? as usize;
        let name_bytes = bytes.u32()? as usize;
        let name = bytes.take(name_bytes)?;
        let ids = bytes.take(ids_count.checked_mul(8)?)?;
        let mut attribute = Attribute::parse(attr, endian)?;
        attribute.ids = all_ids(ids, endian);
        attribute.set_name(until_zero(name));
        Some(attribute)
    };
    std::iter::from_fn(one).take((count as usize).min(EVENTS_MAX)).collect()
}

/// A record of a pipe: the attribute and its ids.
pub(super) fn of_record(body: &[u8], endian: Endianness) -> Option<Attribute> {
    let size = Bytes::new(body.get(4..)?, endian).u32()? as usize;
    let mut attribute = Attribute::parse(body.get(..size)?, endian)?;
    attribute.ids = all_ids(&body[size..], endian);
    Some(attribute)
}

fn all_ids(bytes: &[u8], endian: Endianness) -> Vec<u64> {
    let mut bytes = Bytes::new(bytes, endian);
    std::iter::from_fn(|| bytes.u64()).collect()
}
