//! Where compressed integers end, for many of them at once.
//!
//! Decoding integers one by one means that each has to wait for the length of the one before. But every
//! byte tells by itself whether an integer goes on behind it, so the ends of all integers within 64 bytes
//! are one bit mask, and skipping thousands of them is counting bits.

/// Bytes that one mask covers.
pub(super) const BLOCK_BYTES: usize = 64;

/// A number in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

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

    /// Counts them so that any of them can be found.
    #[inline(always)]
    pub(super) fn counted(self) -> Counted {
        let pairs = self.0 - (self.0 >> 1 & 0x5555_5555_5555_5555);
        let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
        let bytes = (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
        Counted { stops: self.0, up_to: bytes.wrapping_mul(ONES) }
    }
}

/// The ends of integers within a block, counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    stops: u64,
    /// In each byte, how many there are in the mask up to and with this byte.
    up_to: u64,
}

impl Counted {
    #[inline(always)]
    pub(super) fn total(self) -> u64 {
        self.up_to >> 56
    }

    /// Position of the `nth` end; `nth` is at least 1 and at most [`Counted::total`].
    #[inline(always)]
    pub(super) fn position(self, nth: u64) -> usize {
        // The first byte of the mask up to which there are `nth` or more: no byte borrows from the next.
        let reached = ((self.up_to | HIGH_BITS) - nth * ONES) & HIGH_BITS;
        let shift = reached.trailing_zeros() & 56;
        let before = self.up_to << 8 >> shift & 0xff;
        let bits = self.stops >> shift & 0xff;
        let within = POSITIONS[(nth - before - 1) as usize & 7][bits as usize];
        shift as usize + usize::from(within)
    }
}

/// Position of the set bit `rank` (from 0) in a byte.
static POSITIONS: [[u8; 256]; 8] = positions();

const fn positions() -> [[u8; 256]; 8] {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut rank, mut bit) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[rank][byte] = bit;
                rank += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
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

    /// Blocks of all densities.
    fn blocks() -> impl Iterator<Item = [u8; BLOCK_BYTES]> {
        (0..2_000_u64).map(|seed| {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            std::array::from_fn(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if (state >> 20) % 64 < seed % 65 { state as u8 & 0x7f } else { state as u8 | 0x80 }
            })
        })
    }

    #[test]
    fn each_end_is_found_by_its_number() {
        for block in blocks() {
            let ends: Vec<usize> = (0..BLOCK_BYTES).filter(|at| block[*at] < 0x80).collect();
            let counted = Stops::at(&block, 0).expect("a whole block").counted();
            assert_eq!(counted.total(), ends.len() as u64, "{block:?}");
            let found: Vec<usize> = (1..=counted.total()).map(|nth| counted.position(nth)).collect();
            assert_eq!(found, ends, "{block:?}");
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
