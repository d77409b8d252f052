//! Events of a trace, in the order of their times, whatever the byte order. Knows nothing of stages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use memchr::memchr3;
use rustc_hash::FxHashMap;

use crate::input::{Input, Passed};

/// The first bytes of each event; the last is the version.
const MAGIC: u32 = 0x6561_7400;

/// What an event begins with on a machine that writes numbers from their other end; on others it is the version.
const BIG: u8 = 0x65;

/// Bytes of an event's header, by version.
const HEADER_7: usize = 48;
const HEADER_8: usize = 64;

/// Actions, the low bits of their field.
pub(crate) mod action {
    pub(crate) const QUEUE: u16 = 1;
    pub(crate) const BACK_MERGE: u16 = 2;
    pub(crate) const FRONT_MERGE: u16 = 3;
    pub(crate) const GET_REQUEST: u16 = 4;
    pub(crate) const ISSUE: u16 = 7;
    pub(crate) const COMPLETE: u16 = 8;
    pub(crate) const INSERT: u16 = 12;
}

/// Set in an action when the id of a control group stands before what belongs to the event.
const WITH_CGROUP: u16 = 1 << 8;
const CGROUP_BYTES: usize = 8;

/// Categories, above the action.
const READ: u64 = 1;
const WRITE: u64 = 1 << 1;
const NOTIFY: u64 = 1 << 10;
const DISCARD: u64 = 1 << 13;

/// The number of the notice that has the time of day.
const TIME_OF_DAY: u16 = 1;
const CATEGORY_SHIFT: u32 = 16;

/// What happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    pub(crate) time_ns: u64,
    pub(crate) action: u16,
    pub(crate) sector: u64,
    pub(crate) bytes: u32,
    pub(crate) pid: u32,
    /// Major and minor number.
    pub(crate) device: (u32, u32),
    /// The name of the process, if that is what the event tells.
    pub(crate) process: Option<&'a [u8]>,
    pub(crate) is_read: bool,
    pub(crate) is_write: bool,
    pub(crate) is_discard: bool,
    /// The time of day, if that is what the event tells.
    pub(crate) wall_ns: Option<i64>,
    pub(super) sequence: u32,
    pub(super) cpu: u32,
}

impl Event<'_> {
    pub(crate) fn is_completion(&self) -> bool {
        self.action == action::COMPLETE
    }
}

/// What was read of a trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) version: u32,
    pub(crate) events: u64,
    /// Events that the numbers of others show to be missing.
    pub(crate) lost: u64,
    /// Bytes that are no events.
    pub(crate) damaged_bytes: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// Whether a file that begins with `head` begins with an event.
pub(super) fn is_binary(head: &[u8]) -> bool {
    let fields = Fields { bytes: head, is_big: head.first() == Some(&BIG) };
    fields.u32(0).is_some_and(|magic| matches!(magic ^ MAGIC, 7 | 8))
}

/// Gives the events of all files to `see`, ordered by time.
pub(super) fn merged<'a>(files: impl Iterator<Item = &'a Input>, see: &mut dyn FnMut(Event<'a>)) -> Read {
    let mut read = Read { first_ns: u64::MAX, ..Read::default() };
    let mut of_cpus: Vec<OfCpu<'a>> = files.map(OfCpu::of).collect();
    let mut heap = BinaryHeap::new();
    let mut sequences: FxHashMap<u32, u32> = FxHashMap::default();
    for (file, of_cpu) in of_cpus.iter_mut().enumerate() {
        heap.extend(of_cpu.advance(&mut read).map(|time_ns| Reverse((time_ns, file))));
    }
    while let Some(Reverse((_, file))) = heap.pop() {
        let Some(event) = of_cpus[file].next.take() else { continue };
        count(&event, &mut sequences, &mut read);
        see(event);
        heap.extend(of_cpus[file].advance(&mut read).map(|time_ns| Reverse((time_ns, file))));
    }
    read
}

/// The file of a CPU, while it is read.
struct OfCpu<'a> {
    rest: &'a [u8],
    next: Option<Event<'a>>,
    passed: Passed<'a>,
    bytes: usize,
}

impl<'a> OfCpu<'a> {
    fn of(file: &'a Input) -> OfCpu<'a> {
        OfCpu { rest: file, next: None, passed: Passed::of(file), bytes: file.len() }
    }

    /// Reads the next event; its time. Bytes that are none are passed over.
    fn advance(&mut self, read: &mut Read) -> Option<u64> {
        loop {
            self.passed.up_to(self.bytes - self.rest.len());
            match one(self.rest)? {
                Some((event, version, bytes)) => {
                    read.version = version;
                    self.rest = &self.rest[bytes..];
                    self.next = Some(event);
                    return Some(event.time_ns);
                }
                None => {
                    let bytes = to_next(self.rest);
                    self.rest = &self.rest[bytes..];
                    read.damaged_bytes += bytes as u64;
                }
            }
        }
    }
}

/// How many bytes from a byte that begins no event there are to the next one that may.
fn to_next(rest: &[u8]) -> usize {
    const LOOKED_AT_BYTES: usize = 1 << 20;
    let near = &rest[1..rest.len().min(LOOKED_AT_BYTES)];
    1 + memchr3(7, 8, BIG, near).unwrap_or(near.len())
}

/// Each CPU numbers its events.
fn count(event: &Event<'_>, sequences: &mut FxHashMap<u32, u32>, read: &mut Read) {
    let before = sequences.insert(event.cpu, event.sequence);
    let gap = before.map_or(0, |before| event.sequence.wrapping_sub(before).wrapping_sub(1));
    // A number that goes back is another trace's, and no gap.
    if gap < u32::MAX / 2 {
        read.lost += u64::from(gap);
    }
    read.events += 1;
    read.first_ns = read.first_ns.min(event.time_ns);
    read.last_ns = read.last_ns.max(event.time_ns);
}

/// The event at the beginning of `rest`, with the version of its format and its bytes: `Some(None)` if there is none, `None` where
/// too little is left for one.
fn one(rest: &[u8]) -> Option<Option<(Event<'_>, u32, usize)>> {
    let is_big = rest.first() == Some(&BIG);
    let fields = Fields { bytes: rest, is_big };
    let version = fields.u32(0)? ^ MAGIC;
    let header = match version {
        7 => HEADER_7,
        8 => HEADER_8,
        _ => return Some(None),
    };
    let length = usize::from(fields.u16(if version == 7 { 46 } else { 50 })?);
    let Some(more) = rest.get(header..header + length) else { return Some(None) };
    let event = if version == 7 { of_version_7(fields, more)? } else { of_version_8(fields, more)? };
    Some(Some((event, version, header + length)))
}

fn of_version_7<'a>(fields: Fields<'_>, more: &'a [u8]) -> Option<Event<'a>> {
    let action = u64::from(fields.u32(28)?);
    event(fields, action, (fields.u32(24)?, fields.u32(32)?, fields.u32(36)?, fields.u32(40)?), more)
}

fn of_version_8<'a>(fields: Fields<'_>, more: &'a [u8]) -> Option<Event<'a>> {
    event(fields, fields.u64(32)?, (fields.u32(24)?, fields.u32(28)?, fields.u32(40)?, fields.u32(44)?), more)
}

fn event<'a>(
    fields: Fields<'_>,
    action: u64,
    (bytes, pid, device, cpu): (u32, u32, u32, u32),
    more: &'a [u8],
) -> Option<Event<'a>> {
    const MINOR_BITS: u32 = 20;
    let (low, categories) = (action as u16, action >> CATEGORY_SHIFT);
    let more = if low & WITH_CGROUP != 0 { more.get(CGROUP_BYTES..).unwrap_or_default() } else { more };
    let is_notice = categories & NOTIFY != 0;
    let is_process = is_notice && low & !WITH_CGROUP == 0;
    let is_time = is_notice && low & !WITH_CGROUP == TIME_OF_DAY;
    let name = || more.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(Event {
        time_ns: fields.u64(8)?,
        // A notice is no action, whatever its number.
        action: if is_notice { 0 } else { low & !WITH_CGROUP },
        sector: fields.u64(16)?,
        bytes,
        pid,
        device: (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1)),
        process: is_process.then(name),
        is_read: categories & READ != 0,
        is_write: categories & WRITE != 0,
        is_discard: categories & DISCARD != 0,
        wall_ns: is_time.then(|| wall_ns(Fields { bytes: more, is_big: fields.is_big })).flatten(),
        sequence: fields.u32(4)?,
        cpu,
    })
}

/// Seconds, and ns of them.
fn wall_ns(fields: Fields<'_>) -> Option<i64> {
    Some(i64::from(fields.u32(0)?) * 1_000_000_000 + i64::from(fields.u32(4)?))
}

/// Numbers in the byte order of the machine that wrote them.
#[derive(Clone, Copy)]
struct Fields<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Fields<'_> {
    fn at<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at + N)?.try_into().ok()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.at(at).map(|bytes| if self.is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.at(at).map(|bytes| if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(self, at: usize) -> Option<u64> {
        self.at(at).map(|bytes| if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }
}
