//! The values that are read from a sample. Knows no evidence.
//!
//! The kernel's order of values defines the position of each value of a sample.

use linux_perf_event_reader::{Endianness, SampleFormat};

use crate::bytes::Bytes;
use crate::perf_data::attributes::Attribute;

/// Bytes of each value before the chain.
const VALUE_BYTES: usize = 8;

/// A sample, as far as it is read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    /// Process and thread.
    pub(super) ids: Option<(i32, i32)>,
    pub(super) time_ns: Option<u64>,
    pub(super) cpu: Option<u32>,
    pub(super) period: Option<u64>,
    /// Where the code was.
    instruction: &'a [u8],
    /// Where it was and who had called it, as they stand in the file.
    chain: Option<&'a [u8]>,
    /// What a tracepoint has.
    pub(super) raw: Option<&'a [u8]>,
    pub(super) user: Option<User<'a>>,
}

/// Registers of the program, and a copy of its stack from the stack pointer on (`--call-graph dwarf`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct User<'a> {
    registers: &'a [u8],
    pub(super) stack: &'a [u8],
}

impl User<'_> {
    /// The registers, in the order of their bits.
    pub(super) fn registers(&self, endian: Endianness) -> Vec<u64> {
        addresses(self.registers, endian).collect()
    }
}

impl<'a> Sample<'a> {
    /// Reads the body of a record that is a sample of an event.
    pub(super) fn parse(of: &Attribute, body: &'a [u8]) -> Option<Sample<'a>> {
        let (format, endian) = (of.parse_info.sample_format, of.parse_info.endian);
        let mut fields = Bytes::new(body, endian);
        let mut value = |part: SampleFormat| match format.contains(part) {
            true => fields.take(VALUE_BYTES).map(Some),
            false => Some(None),
        };
        value(SampleFormat::IDENTIFIER)?;
        let instruction = value(SampleFormat::IP)?.unwrap_or_default();
        let (ids, time) = (value(SampleFormat::TID)?, value(SampleFormat::TIME)?);
        value(SampleFormat::ADDR)?;
        value(SampleFormat::ID)?;
        value(SampleFormat::STREAM_ID)?;
        let (cpu, period) = (value(SampleFormat::CPU)?, value(SampleFormat::PERIOD)?);
        let values_bytes = of.values.map_or(Some(0), |values| values.bytes(fields.rest(), endian))?;
        fields.take(values_bytes)?;
        let chain = match format.contains(SampleFormat::CALLCHAIN) {
            true => Some(chain(&mut fields)?),
            false => None,
        };
        let raw = match format.contains(SampleFormat::RAW) {
            true => Some(raw(&mut fields)?),
            false => None,
        };
        let user = user(of, &mut fields)?;
        let first = |value: Option<&'a [u8]>| Bytes::new(value?, endian).u64();
        let ids = ids.and_then(|ids| two_ids(&mut Bytes::new(ids, endian)));
        let cpu = cpu.and_then(|cpu| Bytes::new(cpu, endian).u32());
        Some(Sample { ids, time_ns: first(time), cpu, period: first(period), instruction, chain, raw, user })
    }

    /// Where the kernel was, which has its own part of the chain.
    pub(super) fn chain(&self) -> &'a [u8] {
        self.chain.unwrap_or_default()
    }

    /// The bytes that tell where it was.
    pub(super) fn place(&self) -> &'a [u8] {
        self.chain.unwrap_or(self.instruction)
    }
}

/// Of a process and a thread.
pub(super) fn two_ids(ids: &mut Bytes<'_>) -> Option<(i32, i32)> {
    Some((ids.u32()?.cast_signed(), ids.u32()?.cast_signed()))
}

/// As many addresses as it says.
fn chain<'a>(fields: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let bytes = fields.size()?.checked_mul(VALUE_BYTES)?;
    fields.take(bytes)
}

/// What a sample has of the program; nothing where it was not copied, or not of a program of 64 bits.
fn user<'a>(of: &Attribute, fields: &mut Bytes<'a>) -> Option<Option<User<'a>>> {
    const ABI_64: u64 = 2;
    let has = |part| of.parse_info.sample_format.contains(part);
    // Branches stand before it, in a form that differs between kernels.
    if !has(SampleFormat::REGS_USER) || !has(SampleFormat::STACK_USER) || has(SampleFormat::BRANCH_STACK) {
        return Some(None);
    }
    let abi = fields.u64()?;
    let count = if abi == 0 { 0 } else { usize::from(of.parse_info.user_regs_count) };
    let registers = fields.take(count * VALUE_BYTES)?;
    let size_bytes = fields.size()?;
    if size_bytes == 0 {
        return Some(None);
    }
    let copy = fields.take(size_bytes)?;
    let stack = copy.get(..fields.size()?).unwrap_or(copy);
    Some((abi == ABI_64 && !stack.is_empty()).then_some(User { registers, stack }))
}

fn raw<'a>(fields: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let bytes = fields.u32()? as usize;
    fields.take(bytes)
}

/// The addresses of a [place](Sample::place), with the marks between parts of a chain.
pub(super) fn addresses(place: &[u8], endian: Endianness) -> impl Iterator<Item = u64> + '_ {
    place.chunks_exact(VALUE_BYTES).filter_map(move |address| Bytes::new(address, endian).u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A software event whose samples have the values of `format`.
    fn attribute(format: SampleFormat) -> Attribute {
        let (software, size, period) = (1_u32, 64_u32, 1_u64);
        let words = [0, period, format.bits(), 0, 0, 0, 0];
        let bytes = [software, size].map(u32::to_le_bytes).concat().into_iter();
        let bytes: Vec<u8> = bytes.chain(words.into_iter().flat_map(u64::to_le_bytes)).collect();
        Attribute::parse(&bytes, Endianness::LittleEndian).unwrap()
    }

    fn words(all: &[u64]) -> Vec<u8> {
        all.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn values_stand_in_the_order_of_the_kernel() {
        use SampleFormat as Has;
        let format = Has::IDENTIFIER | Has::IP | Has::TID | Has::TIME | Has::CPU | Has::PERIOD | Has::CALLCHAIN;
        let (pid, tid, cpu) = (7, 8 << 32, 3);
        let body = [words(&[99, 0xabc, pid | tid, 1_000, cpu, 5, 2, 0x10, 0x20]), vec![2, 0, 0, 0, 1, 2]].concat();
        let attribute = attribute(format | Has::RAW);
        let sample = Sample::parse(&attribute, &body).unwrap();
        assert_eq!((sample.ids, sample.time_ns, sample.cpu), (Some((7, 8)), Some(1_000), Some(3)));
        assert_eq!((sample.period, sample.raw), (Some(5), Some(&[1, 2][..])));
        let chain: Vec<u64> = addresses(sample.place(), Endianness::LittleEndian).collect();
        assert_eq!(chain, [0x10, 0x20]);
        assert!((0..body.len()).all(|at| Sample::parse(&attribute, &body[..at]).is_none()));
    }

    #[test]
    fn a_copy_of_the_stack_is_as_long_as_it_was_filled() {
        let format = SampleFormat::CALLCHAIN | SampleFormat::REGS_USER | SampleFormat::STACK_USER;
        let (software, size, period, registers) = (1_u32, 96_u32, 1_u64, 0b1_0100_0000_u64);
        let words_of = [0, period, format.bits(), 0, 0, 0, 0, 0, 0, registers, 16];
        let bytes = [&[software, size].map(u32::to_le_bytes).concat()[..], &words(&words_of)].concat();
        let attribute = Attribute::parse(&bytes, Endianness::LittleEndian).unwrap();
        let whole = [1, 0xffff_8000, 2, 0xb0, 0x10, 16, 7, 8, 8];
        let body = words(&whole);
        let user = Sample::parse(&attribute, &body).unwrap().user.unwrap();
        assert_eq!((user.registers(Endianness::LittleEndian), user.stack), (vec![0xb0, 0x10], &words(&[7])[..]));
        assert!((0..body.len()).all(|at| Sample::parse(&attribute, &body[..at]).is_none()));
        for (other, rest) in [(0, &[16, 7, 8, 8][..]), (1, &[0xb0, 0x10, 16, 7, 8, 8]), (2, &[0xb0, 0x10, 0])] {
            let body = [&words(&[0, other])[..], &words(rest)].concat();
            assert_eq!(Sample::parse(&attribute, &body).unwrap().user, None, "{other}");
        }
    }

    #[test]
    fn a_chain_is_not_longer_than_its_sample() {
        let attribute = attribute(SampleFormat::CALLCHAIN);
        for callers in [1, 1 << 61, u64::MAX] {
            assert_eq!(Sample::parse(&attribute, &words(&[callers])), None);
        }
    }

    #[test]
    fn without_a_chain_the_instruction_is_the_place() {
        let attribute = attribute(SampleFormat::IP);
        let body = words(&[0xabc]);
        let place = Sample::parse(&attribute, &body).unwrap().place();
        assert_eq!(addresses(place, Endianness::LittleEndian).collect::<Vec<_>>(), [0xabc]);
    }
}
