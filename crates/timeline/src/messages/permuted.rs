//! How likely a difference is by chance: blocks are exchanged between both sides at random.

/// So many exchanges that were as different end the search: the chance is known well enough.
const ENOUGH: u32 = 30;

/// Exchanges are tried at least and at most so often.
const TRIES: std::ops::RangeInclusive<u32> = 4_000..=400_000;

/// Tries for each kind that is tested: the least chance has to be small enough to count among so many kinds.
const TRIES_PER_KIND: usize = 80;

/// Exchanges blocks.
#[derive(Debug)]
pub(super) struct Permutations {
    slow_len: usize,
    order: Vec<usize>,
    tries: u32,
    random: u64,
}

impl Permutations {
    /// For a number of kinds over `len` blocks; the first `slow_len` blocks are the slow ones.
    pub(super) fn new(slow_len: usize, len: usize, kinds: usize) -> Permutations {
        let wanted = u32::try_from(kinds.saturating_mul(TRIES_PER_KIND)).unwrap_or(u32::MAX);
        let tries = wanted.clamp(*TRIES.start(), *TRIES.end());
        Permutations { slow_len, order: (0..len).collect(), tries, random: 0 }
    }

    /// How likely both the rate and the part of all messages of a kind are as different as they are, in the same direction.
    pub(super) fn chance(&mut self, counts: &[f64], totals: &[f64], lengths: &[f64]) -> f64 {
        let beyond = [lengths, totals].map(|weights| beyond_share(counts, weights));
        let is_slow = |beyond: &[f64]| beyond[..self.slow_len].iter().sum::<f64>();
        let [by_rate, by_part] = [is_slow(&beyond[0]), is_slow(&beyond[1])];
        if by_rate.signum() != by_part.signum() {
            return 1.0;
        }
        let (mut as_far, mut tried) = ([0_u32; 2], 0);
        while tried < self.tries && as_far.iter().max() < Some(&ENOUGH) {
            tried += 1;
            let sums = self.exchanged(&beyond);
            for (index, (sum, seen)) in sums.into_iter().zip([by_rate, by_part]).enumerate() {
                // Sums of the same blocks in another order may differ in the last digit.
                as_far[index] += u32::from(sum * seen.signum() >= seen.abs() * (1.0 - 1e-9));
            }
        }
        let most = as_far.into_iter().max().unwrap_or(0);
        // A difference in either direction would have been reported.
        (2.0 * f64::from(most + 1) / f64::from(tried + 1)).min(1.0)
    }

    /// What blocks that are called slow at random have beyond their share. Those of the shorter side are drawn: both sum up to nothing.
    fn exchanged(&mut self, beyond: &[Vec<f64>; 2]) -> [f64; 2] {
        let len = self.order.len();
        let is_slow_drawn = self.slow_len <= len - self.slow_len;
        let drawn = if is_slow_drawn { self.slow_len } else { len - self.slow_len };
        for at in 0..drawn {
            let other = at + (self.next() % (len - at) as u64) as usize;
            self.order.swap(at, other);
        }
        let sign = if is_slow_drawn { 1.0 } else { -1.0 };
        [0, 1].map(|which| sign * self.order[..drawn].iter().map(|block| beyond[which][*block]).sum::<f64>())
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014): the same answer each time.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// What each block has beyond its share of all counts, by its weight.
fn beyond_share(counts: &[f64], weights: &[f64]) -> Vec<f64> {
    let share = counts.iter().sum::<f64>() / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    counts.iter().zip(weights).map(|(count, weight)| count - share * weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_counting() {
        let chance = |counts: &[f64], slow_len: usize| {
            let ones = vec![1.0; counts.len()];
            Permutations::new(slow_len, counts.len(), 1).chance(counts, &ones, &ones)
        };
        let mut burst = vec![0.0; 50];
        burst[0] = 400.0;
        // One burst is in the slow tenth of the time by a chance of a tenth; either direction counts.
        assert!((chance(&burst, 5) - 0.2).abs() < 0.08, "{}", chance(&burst, 5));
        let mut each: Vec<f64> = vec![1.0; 50];
        each[..5].fill(9.0);
        // 1 of 2,118,760 choices.
        assert!(chance(&each, 5) < 0.001);
        each[..5].fill(1.0);
        assert_eq!(chance(&each, 5), 1.0);
        // The longer side may be the slow one.
        let mut most = vec![9.0; 50];
        most[45..].fill(1.0);
        assert!(chance(&most, 45) < 0.001);
    }
}
