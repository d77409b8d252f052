//! The file around packets: the classic format here, pcapng in `blocks.rs`. Knows no evidence.

use linux_perf_event_reader::Endianness;

use crate::bytes::Bytes;
use crate::input::{Input, Passed};
use crate::pcap::blocks;
use crate::pcap::frame::{Direction, Ended, Frame, PACKET_MAX_BYTES, damage};

const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;

/// Whether a file that begins with `head` is one.
pub(super) fn is_capture(head: &[u8]) -> bool {
    Classic::parse(head).is_some() || blocks::is_pcapng(head)
}

/// Gives each packet to `take`.
pub(super) fn read(file: &Input, take: &mut dyn FnMut(&Frame<'_>)) -> Ended {
    let mut passed = Passed::of(file);
    let mut passed = |at: usize| passed.up_to(at);
    match Classic::parse(file) {
        Some(classic) => classic.packets(file, &mut passed, take),
        None => blocks::read(file, &mut passed, take),
    }
}

/// What the header of a classic file says.
struct Classic {
    endian: Endianness,
    /// What the second part of a time is multiplied by.
    fraction_ns: i64,
    link: u16,
}

impl Classic {
    fn parse(head: &[u8]) -> Option<Classic> {
        let (endian, fraction_ns) = match *head.first_chunk::<4>()? {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Endianness::LittleEndian, 1_000),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Endianness::BigEndian, 1_000),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Endianness::LittleEndian, 1),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Endianness::BigEndian, 1),
            _ => return None,
        };
        let mut header = Bytes::new(head.get(4..HEADER_BYTES)?, endian);
        let version = (header.u16()?, header.u16()?);
        header.take(12)?;
        // The upper half is about checksums at the ends of packets.
        let link = header.u32()? as u16;
        (version == (2, 4)).then_some(Classic { endian, fraction_ns, link })
    }

    fn packets(&self, file: &[u8], passed: &mut dyn FnMut(usize), take: &mut dyn FnMut(&Frame<'_>)) -> Ended {
        let mut at = HEADER_BYTES;
        while at < file.len() {
            match self.packet(&file[at..]) {
                Ok((frame, size)) => {
                    take(&frame);
                    at += size;
                }
                Err(says) => return Ended { damage: Some(damage(says, at, file.len())), ..Ended::default() },
            }
            passed(at);
        }
        Ended::default()
    }

    fn packet<'a>(&self, rest: &'a [u8]) -> Result<(Frame<'a>, usize), &'static str> {
        let mut header = Bytes::new(rest, self.endian);
        let mut next = || header.u32().ok_or("it ends in the head of a packet");
        let (seconds, fraction, kept, length) = (next()?, next()?, next()? as usize, next()?);
        if kept > PACKET_MAX_BYTES {
            return Err("a packet is longer than packets are");
        }
        let bytes = rest.get(RECORD_BYTES..RECORD_BYTES + kept).ok_or("it ends in a packet")?;
        let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.fraction_ns;
        let frame = Frame { time_ns, link: self.link, bytes, length, direction: Direction::Unknown, interface: 0 };
        Ok((frame, RECORD_BYTES + kept))
    }
}
