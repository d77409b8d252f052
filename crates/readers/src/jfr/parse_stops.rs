//! Where compressed integers end, for many of them at once.
//!
//! Decoding integers one by one means that each has to wait for the length of the one before. But every byte shows by
//! itself whether its integer continues after it, so the ends of all integers within 64 bytes are one bit mask, and
//! skipping thousands of them is counting bits.

/// Bytes that one mask covers.
pub(super) const BLOCK_BYTES: usize = 64;

/// The ends of integers within a block: bit `n` is set where byte `n` ends one.
///
/// A nine-byte integer breaks the rule, because its ninth byte is raw. See [`Stops::may_be_nine`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Stops(pub(super) u64);

impl Stops {
    /// Those of the block at `at`; `None` when the data end before it does.
    #[inline(always)]
    pub(super) fn at(data: &[u8], at: usize) -> Option<Stops> {
        let block = data.get(at..)?.first_chunk::<BLOCK_BYTES>()?;
        let (parts, _) = block.as_chunks::<16>();
        let part = |index: usize| u64::from(!high_bits(&parts[index])) << (16 * index);
        Some(Stops(part(0) | part(1) | part(2) | part(3)))
    }

    /// Whether eight bytes on end belong to one integer, so that a ninth follows which is not told by its
    /// highest bit. `open` bytes before the block belong to the integer at its start.
    #[inline(always)]
    pub(super) fn may_be_nine(self, open: u32) -> bool {
        let more = !self.0;
        let two = more & more >> 1;
        let four = two & two >> 2;
        four & four >> 4 != 0 || open + self.0.trailing_zeros() >= 8
    }

    /// How many bytes at the end of the block belong to an integer that ends behind it.
    #[inline(always)]
    pub(super) fn open(self) -> u32 {
        self.0.leading_zeros()
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// The highest bit of each byte. Every x86-64 has this as an instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn high_bits(bytes: &[u8; 16]) -> u16 {
    use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};

    let bytes = u128::from_le_bytes(*bytes);
    // SAFETY: SSE2, which these two need and nothing else, is part of x86-64.
    unsafe { _mm_movemask_epi8(_mm_set_epi64x((bytes >> 64) as i64, bytes as i64)) as u16 }
}

/// The highest bit of each byte, gathered from eight of them by one multiplication.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn high_bits(bytes: &[u8; 16]) -> u16 {
    /// A number in each byte.
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, _) = bytes.as_chunks::<8>();
    let [low, high] = [words[0], words[1]].map(|word| {
        let lowest = u64::from_le_bytes(word) >> 7 & ONES;
        lowest.wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    (low | high << 8) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_a_bit() {
        for period in 1..BLOCK_BYTES {
            let block: [u8; BLOCK_BYTES] = std::array::from_fn(|at| if at % period == 0 { 0x7f } else { 0xff });
            let stops = Stops::at(&block, 0).expect("a whole block");
            let expected: u64 = (0..BLOCK_BYTES).step_by(period).fold(0, |all, at| all | 1 << at);
            assert_eq!((stops.0, stops.count()), (expected, expected.count_ones()), "{period}");
        }
        assert!(Stops::at(&[0; 64], 1).is_none());
        assert!(Stops::at(&[0; 64], 65).is_none());
    }

    #[test]
    fn long_runs_are_noticed_wherever_they_are() {
        let run = |from: usize, to: usize| {
            std::array::from_fn::<u8, 64, _>(|at| if (from..to).contains(&at) { 0x80 } else { 1 })
        };
        for (from, to, open, expected) in [
            (0, 0, 0, false),
            (0, 7, 0, false),
            (0, 8, 0, true),
            (0, 7, 1, true),
            (0, 0, 7, false),
            (30, 37, 0, false),
            (30, 38, 0, true),
            (57, 64, 0, false),
            (56, 64, 0, true),
            (0, 64, 0, true),
        ] {
            let stops = Stops::at(&run(from, to), 0).expect("a whole block");
            assert_eq!(stops.may_be_nine(open), expected, "{from} {to} {open}");
            assert_eq!(stops.open() as usize, if to == 64 { to - from } else { 0 }, "{from} {to}");
        }
    }
}
