//! Events of a trace, in the order of their times, whatever the byte order. Knows nothing of stages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

/// The first bytes of each event; the last is the version.
const MAGIC: u32 = 0x6561_7400;

/// Bytes of an event's header, by version.
const HEADER_7: usize = 48;
const HEADER_8: usize = 64;

/// Actions, the low bits of their field.
pub(super) mod action {
    pub(in crate::blktrace) const QUEUE: u16 = 1;
    pub(in crate::blktrace) const BACK_MERGE: u16 = 2;
    pub(in crate::blktrace) const FRONT_MERGE: u16 = 3;
    pub(in crate::blktrace) const GET_REQUEST: u16 = 4;
    pub(in crate::blktrace) const ISSUE: u16 = 7;
    pub(in crate::blktrace) const COMPLETE: u16 = 8;
    pub(in crate::blktrace) const INSERT: u16 = 12;
}

/// Set in an action when the id of a control group stands before what belongs to the event.
const WITH_CGROUP: u16 = 1 << 8;
const CGROUP_BYTES: usize = 8;

/// Categories, above the action.
const READ: u64 = 1;
const WRITE: u64 = 1 << 1;
const NOTIFY: u64 = 1 << 10;
const CATEGORY_SHIFT: u32 = 16;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) time_ns: u64,
    pub(super) action: u16,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) pid: u32,
    /// Major and minor number.
    pub(super) device: (u32, u32),
    /// The name of the process, if that is what the event tells.
    pub(super) process: Option<&'a [u8]>,
    pub(super) is_read: bool,
    pub(super) is_write: bool,
    sequence: u32,
    cpu: u32,
}

/// What was read of a trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) version: u32,
    pub(super) events: u64,
    /// Events that the numbers of others show to be missing.
    pub(super) lost: u64,
    /// Bytes that are no events.
    pub(super) damaged_bytes: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

/// Gives the events of all files to `see`, ordered by time.
pub(super) fn merged<'a>(files: &[&'a [u8]], see: &mut dyn FnMut(Event<'a>)) -> Read {
    let mut read = Read { first_ns: u64::MAX, ..Read::default() };
    let mut rests: Vec<&[u8]> = files.to_vec();
    let mut next: Vec<Option<Event<'a>>> = vec![None; files.len()];
    let mut heap = BinaryHeap::new();
    let mut sequences: FxHashMap<u32, u32> = FxHashMap::default();
    for file in 0..files.len() {
        advance(file, &mut rests, &mut next, &mut heap, &mut read);
    }
    while let Some(Reverse((_, file))) = heap.pop() {
        let Some(event) = next[file].take() else { continue };
        count(&event, &mut sequences, &mut read);
        see(event);
        advance(file, &mut rests, &mut next, &mut heap, &mut read);
    }
    read
}

fn advance<'a>(
    file: usize,
    rests: &mut [&'a [u8]],
    next: &mut [Option<Event<'a>>],
    heap: &mut BinaryHeap<Reverse<(u64, usize)>>,
    read: &mut Read,
) {
    let Some(event) = one(&mut rests[file], read) else { return };
    heap.push(Reverse((event.time_ns, file)));
    next[file] = Some(event);
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

/// The next event of a file. Bytes that are none are passed over up to the next one.
fn one<'a>(rest: &mut &'a [u8], read: &mut Read) -> Option<Event<'a>> {
    loop {
        let is_big = rest.first() == Some(&0x65);
        let version = Fields { bytes: rest, is_big }.u32(0)? ^ MAGIC;
        let header = match version {
            7 => HEADER_7,
            8 => HEADER_8,
            _ => {
                *rest = &rest[1..];
                read.damaged_bytes += 1;
                continue;
            }
        };
        let fields = Fields { bytes: rest, is_big };
        let length = usize::from(fields.u16(if version == 7 { 46 } else { 50 })?);
        let Some(more) = rest.get(header..header + length) else {
            *rest = &rest[1..];
            read.damaged_bytes += 1;
            continue;
        };
        let event = if version == 7 { of_version_7(fields, more)? } else { of_version_8(fields, more)? };
        read.version = version;
        *rest = &rest[header + length..];
        return Some(event);
    }
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
        sequence: fields.u32(4)?,
        cpu,
    })
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
