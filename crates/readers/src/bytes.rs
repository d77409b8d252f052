//! Numbers in bytes of either byte order. Knows no format.

use linux_perf_event_reader::Endianness;

/// What is left to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    endian: Endianness,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(rest: &'a [u8], endian: Endianness) -> Bytes<'a> {
        Bytes { rest, endian }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(if self.is_little() { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(if self.is_little() { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(if self.is_little() { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// A number of bytes or things, which no file in memory has more of.
    pub(crate) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    /// Text up to a zero, which is skipped.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    fn is_little(&self) -> bool {
        self.endian == Endianness::LittleEndian
    }
}

/// Text up to the first zero.
pub(crate) fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
