//! pcapng: a file of blocks, each with its kind and its length at both ends, in sections of their own byte order. Knows no
//! evidence.

use std::collections::HashMap;

use linux_perf_event_reader::Endianness;

use crate::bytes::Bytes;
use crate::pcap::frame::{Direction, Ended, Frame, PACKET_MAX_BYTES, damage};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

/// Kind, length and length again.
const AROUND_BYTES: usize = 12;

/// A block holds a packet and its options, or names: a longer one is damage.
const BLOCK_MAX_BYTES: usize = 16 * PACKET_MAX_BYTES;

/// Interfaces of a section: a machine with many containers has hundreds.
const INTERFACES_MAX: usize = 65_536;

/// Options of blocks.
const END_OF_OPTIONS: u16 = 0;
const FLAGS: u16 = 2;
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;
const RESOLUTION: u16 = 9;
const OFFSET_S: u16 = 14;

/// Whether a file that begins with `head` is one.
pub(super) fn is_pcapng(head: &[u8]) -> bool {
    head.starts_with(&SECTION.to_be_bytes()) && order(head).is_some()
}

/// The byte order of a section, which stands behind its length.
fn order(section: &[u8]) -> Option<Endianness> {
    match section.get(8..12)? {
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Endianness::LittleEndian),
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Endianness::BigEndian),
        _ => None,
    }
}

/// Gives each packet to `take`.
pub(super) fn read(file: &[u8], passed: &mut dyn FnMut(usize), take: &mut dyn FnMut(&Frame<'_>)) -> Ended {
    let mut blocks = Blocks::default();
    let mut at = 0;
    while at < file.len() {
        match blocks.block(&file[at..], take) {
            Ok(size) => at += size,
            Err(says) => {
                blocks.ended.damage = Some(damage(says, at, file.len()));
                break;
            }
        }
        passed(at);
    }
    blocks.section_ends();
    blocks.ended
}

/// What a section says of an interface.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u16,
    /// Units of time in a second.
    per_second: u64,
    offset_ns: i64,
}

struct Blocks {
    endian: Endianness,
    interfaces: Vec<Interface>,
    /// Of each interface the last count.
    dropped: HashMap<u32, u64>,
    ended: Ended,
}

impl Default for Blocks {
    fn default() -> Blocks {
        let (interfaces, dropped, ended) = Default::default();
        Blocks { endian: Endianness::LittleEndian, interfaces, dropped, ended }
    }
}

impl Blocks {
    /// Reads the first block and returns its size.
    fn block(&mut self, rest: &[u8], take: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, &'static str> {
        const CUT: &str = "it ends in a block";
        if rest.starts_with(&SECTION.to_be_bytes()) {
            self.section_ends();
            self.endian = order(rest).ok_or("a section does not say its byte order")?;
        }
        let mut head = Bytes::new(rest, self.endian);
        let (kind, size) = (head.u32().ok_or(CUT)?, head.u32().ok_or(CUT)? as usize);
        if !(AROUND_BYTES..=BLOCK_MAX_BYTES).contains(&size) {
            return Err("a block has no possible length");
        }
        let block = rest.get(..size).ok_or(CUT)?;
        let again = Bytes::new(&block[size - 4..], self.endian).u32();
        if again != Some(size as u32) {
            return Err("a block has two lengths");
        }
        self.of_kind(kind, &block[8..size - 4], take);
        Ok(size)
    }

    /// Counts of drops are of a section's interfaces.
    fn section_ends(&mut self) {
        self.interfaces.clear();
        let dropped = self.dropped.drain().fold(0_u64, |sum, (_, count)| sum.saturating_add(count));
        self.ended.dropped = self.ended.dropped.saturating_add(dropped);
    }

    fn of_kind(&mut self, kind: u32, body: &[u8], take: &mut dyn FnMut(&Frame<'_>)) {
        match kind {
            INTERFACE if self.interfaces.len() < INTERFACES_MAX => self.interfaces.extend(self.interface(body)),
            PACKET => self.packet(body, false).iter().for_each(take),
            OLD_PACKET => self.packet(body, true).iter().for_each(take),
            SIMPLE_PACKET => self.ended.without_time += 1,
            STATISTICS => self.statistics(body),
            _ => {}
        }
    }

    fn interface(&self, body: &[u8]) -> Option<Interface> {
        let mut fields = Bytes::new(body, self.endian);
        let link = fields.u16()?;
        fields.take(6)?;
        let mut interface = Interface { link, per_second: 1_000_000, offset_ns: 0 };
        self.options(fields, &mut |code, value| match (code, value) {
            (RESOLUTION, [power, ..]) => interface.per_second = per_second(*power).unwrap_or(1_000_000),
            (OFFSET_S, value) => {
                let offset_s = Bytes::new(value, self.endian).u64().unwrap_or(0) as i64;
                interface.offset_ns = offset_s.saturating_mul(1_000_000_000);
            }
            _ => {}
        });
        Some(interface)
    }

    /// A packet, or one as older programs wrote it.
    fn packet<'a>(&self, body: &'a [u8], is_old: bool) -> Option<Frame<'a>> {
        let mut fields = Bytes::new(body, self.endian);
        let number = match is_old {
            true => {
                let interface = u32::from(fields.u16()?);
                fields.u16()?;
                interface
            }
            false => fields.u32()?,
        };
        let interface = *self.interfaces.get(number as usize)?;
        let units = u64::from(fields.u32()?) << 32 | u64::from(fields.u32()?);
        let (kept, length) = (fields.u32()? as usize, fields.u32()?);
        let bytes = fields.take(kept)?;
        fields.take(kept.next_multiple_of(4) - kept);
        let mut direction = Direction::Unknown;
        self.options(fields, &mut |code, value| {
            if code == FLAGS {
                direction = direction_of(Bytes::new(value, self.endian).u32().unwrap_or(0));
            }
        });
        let time_ns = interface.time_ns(units);
        Some(Frame { time_ns, link: interface.link, bytes, length, direction, interface: number })
    }

    fn statistics(&mut self, body: &[u8]) {
        let mut fields = Bytes::new(body, self.endian);
        let Some(interface) = fields.u32() else { return };
        fields.take(8);
        let mut dropped = 0_u64;
        self.options(fields, &mut |code, value| {
            if matches!(code, DROPPED_BY_INTERFACE | DROPPED_BY_SYSTEM) {
                dropped = dropped.saturating_add(Bytes::new(value, self.endian).u64().unwrap_or(0));
            }
        });
        if self.dropped.len() < INTERFACES_MAX {
            self.dropped.insert(interface, dropped);
        }
    }

    fn options(&self, mut fields: Bytes<'_>, see: &mut dyn FnMut(u16, &[u8])) {
        let mut next = || {
            let (code, length) = (fields.u16()?, usize::from(fields.u16()?));
            let value = fields.take(length)?;
            fields.take(length.next_multiple_of(4) - length);
            (code != END_OF_OPTIONS).then_some((code, value))
        };
        while let Some((code, value)) = next() {
            see(code, value);
        }
    }
}

/// A power of ten, or of two where the upper bit is set.
fn per_second(power: u8) -> Option<u64> {
    let (base, power) = if power & 0x80 == 0 { (10_u64, power) } else { (2, power & 0x7f) };
    base.checked_pow(u32::from(power))
}

fn direction_of(flags: u32) -> Direction {
    match flags & 3 {
        1 => Direction::In,
        2 => Direction::Out,
        _ => Direction::Unknown,
    }
}

impl Interface {
    fn time_ns(self, units: u64) -> i64 {
        let ns = u128::from(units) * 1_000_000_000 / u128::from(self.per_second.max(1));
        i64::try_from(ns).unwrap_or(i64::MAX).saturating_add(self.offset_ns)
    }
}
