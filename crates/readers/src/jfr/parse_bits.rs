//! Bit operations that some processors have, and how to run code that uses them on the current processor.
//!
//! Compressed integers are all about picking bits by a mask. x86 has instructions for that (BMI2); where they are
//! missing, the same is done with shifts.

/// How a processor picks bits.
pub(super) trait Bits {
    /// The bits of `word` that are set in `mask`, side by side. The mask has the low seven bits of some bytes
    /// from the lowest on.
    fn pack(word: u64, mask: u64) -> u64;

    /// Position of the set bit of `word` that has `rank` set bits below it; 64 when it has fewer.
    fn position(word: u64, rank: u32) -> u32;

    /// Of the set bits of `word`, every `step`th from the lowest on; `step` is at least 1.
    fn every(word: u64, step: u32) -> u64;
}

/// Any processor.
pub(super) struct Portable;

impl Bits for Portable {
    #[inline(always)]
    fn pack(word: u64, mask: u64) -> u64 {
        let word = word & mask;
        let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
        let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
        (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
    }

    #[inline(always)]
    fn position(word: u64, rank: u32) -> u32 {
        let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
        let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
        // In each byte, how many bits there are up to and with this byte.
        let up_to = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
        if u64::from(rank) >= up_to >> 56 {
            return 64;
        }
        // The first byte up to which there are more than `rank`: no byte borrows from the next.
        let reached = ((up_to | HIGH_BITS) - (u64::from(rank) + 1) * ONES) & HIGH_BITS;
        let shift = reached.trailing_zeros() & 56;
        let before = up_to << 8 >> shift & 0xff;
        let within = POSITIONS[(u64::from(rank) - before) as usize & 7][(word >> shift & 0xff) as usize];
        shift + u32::from(within)
    }

    #[inline(always)]
    fn every(word: u64, step: u32) -> u64 {
        let (mut rest, mut picked) = (word, 0);
        loop {
            for _ in 1..step.min(65) {
                rest &= rest.wrapping_sub(1);
            }
            if rest == 0 {
                return picked;
            }
            picked |= rest & rest.wrapping_neg();
            rest &= rest - 1;
        }
    }
}

/// A number in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Position of the set bit `rank` (from 0) in a byte.
static POSITIONS: [[u8; 256]; 8] = {
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
};

/// A processor with BMI2, which has an instruction for each.
#[cfg(target_arch = "x86_64")]
pub(super) struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Bits for Bmi2 {
    #[inline(always)]
    fn pack(word: u64, mask: u64) -> u64 {
        // SAFETY: code for this type is only run by `on_this_processor`, where it has found BMI2.
        unsafe { std::arch::x86_64::_pext_u64(word, mask) }
    }

    #[inline(always)]
    fn position(word: u64, rank: u32) -> u32 {
        let bit = 1_u64.checked_shl(rank).unwrap_or(0);
        // SAFETY: as above.
        unsafe { std::arch::x86_64::_pdep_u64(bit, word) }.trailing_zeros()
    }

    #[inline(always)]
    fn every(word: u64, step: u32) -> u64 {
        let pattern = EVERY.get(step as usize).copied().unwrap_or(0);
        // SAFETY: as above.
        unsafe { std::arch::x86_64::_pdep_u64(pattern, word) }
    }
}

/// By step: every bit whose number, counted from 1, is a multiple of the step.
#[cfg(target_arch = "x86_64")]
static EVERY: [u64; 65] = {
    let mut patterns = [0; 65];
    let mut step = 1;
    while step <= 64 {
        let mut bit = step;
        while bit <= 64 {
            patterns[step] |= 1 << (bit - 1);
            bit += step;
        }
        step += 1;
    }
    patterns
};

/// Code that picks bits all the time. What it calls must be inlined into it, so that it is compiled for the
/// processor as a whole.
pub(super) trait Work {
    type Result;

    fn run<B: Bits>(self) -> Self::Result;
}

/// Does `work` in the way that suits the processor.
#[inline]
pub(super) fn on_this_processor<W: Work>(work: W) -> W::Result {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function needs.
        return unsafe { with_bmi2(work) };
    }
    work.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn with_bmi2<W: Work>(work: W) -> W::Result {
    work.run::<Bmi2>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What must hold whatever the processor; the second run of it is on the one at hand.
    struct Check(u64);

    impl Work for Check {
        type Result = ();

        #[inline(always)]
        fn run<B: Bits>(self) {
            let word = self.0;
            let set: Vec<u32> = (0..64).filter(|bit| word >> bit & 1 == 1).collect();
            for rank in 0..70 {
                let expected = set.get(rank as usize).copied().unwrap_or(64);
                assert_eq!(B::position(word, rank), expected, "{word:#x} {rank}");
            }
            for step in 1..70 {
                let expected = set.iter().skip(step - 1).step_by(step).fold(0, |all, bit| all | 1 << bit);
                assert_eq!(B::every(word, step as u32), expected, "{word:#x} {step}");
            }
        }
    }

    #[test]
    fn bits_are_picked_alike_on_all_processors() {
        // Under Miri, which interprets, each takes seconds.
        let apart = if cfg!(miri) { 16 } else { 1 };
        for seed in (0..64_u64).step_by(apart) {
            let word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            for word in [word, word | word << 7, word & word >> 9, 1 << seed, u64::MAX >> seed] {
                Check(word).run::<Portable>();
                on_this_processor(Check(word));
            }
        }
    }
}
