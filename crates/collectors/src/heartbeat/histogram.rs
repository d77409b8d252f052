//! Delays of one second, in buckets, so that memory does not depend on how many there are.

/// Buckets for each doubling: the bounds are 12.5 % apart at most.
const PARTS: u64 = 8;
const BUCKETS: usize = 64 * PARTS as usize;

/// How often which delay was seen.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    counts: Vec<u32>,
    total: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Histogram {
    pub(super) fn add(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket(ns)) {
            *count = count.saturating_add(1);
        }
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub(super) fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The delay that this share of all does not exceed; at most an eighth too large.
    pub(super) fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut counted = 0;
        let reached = self.counts.iter().position(|count| {
            counted += u64::from(*count);
            counted >= wanted.max(1)
        });
        reached.map_or(0, |bucket| upper_ns(bucket).min(self.max_ns))
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let doubling = u64::from(ns.ilog2() - PARTS.ilog2());
    let part = (ns >> doubling) - PARTS;
    ((doubling + 1) * PARTS + part) as usize
}

/// The largest number of a bucket.
fn upper_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PARTS {
        return bucket;
    }
    let (doubling, part) = (bucket / PARTS - 1, bucket % PARTS);
    let next = (u128::from(PARTS + part) + 1) << doubling;
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_a_bucket_close_to_it() {
        for ns in (0..70).chain([100, 1_000, 52_345, 1_000_000, 7_654_321_098, u64::MAX / 3, u64::MAX]) {
            let upper = upper_ns(bucket(ns));
            assert!(bucket(ns) < BUCKETS && upper >= ns && upper - ns <= ns / PARTS, "{ns} {upper}");
        }
    }

    #[test]
    fn quantiles() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile_ns(0.99), histogram.max_ns()), (0, 0));
        (1..=1000).for_each(|us| histogram.add(us * 1000));
        for (share, exact) in [(0.5, 500_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let found = histogram.quantile_ns(share);
            assert!(found >= exact && found <= exact + exact / PARTS, "{share} {found}");
        }
        assert_eq!(histogram.max_ns(), 1_000_000);
    }
}
