//! Which requests become rows when there are more than are wanted: the slow ones, and one in so many of the others.

use super::parse::{BUCKETS, bucket_from_ns};

/// How much of what was known stays at each look: about half a second counts.
const KEPT: f64 = 0.8;

/// What becomes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    /// What takes at least so long.
    pub(super) slow_ns: u64,
    /// Of the others one in so many.
    pub(super) one_in: u64,
}

const EVERYTHING: Rule = Rule { slow_ns: 0, one_in: 1 };

/// What is known of the latencies of one endpoint, the latest most.
#[derive(Debug, Clone)]
pub(super) struct Latencies {
    counted: [u64; BUCKETS],
    weights: [f64; BUCKETS],
    /// Requests each look, in a steady state or since the last one.
    per_look: f64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { counted: [0; BUCKETS], weights: [0.0; BUCKETS], per_look: 0.0 }
    }
}

impl Latencies {
    /// Notes what has been counted in each bucket until now.
    pub(super) fn see(&mut self, counted: &[u64]) {
        let mut latest = 0.0;
        for ((now, before), weight) in counted.iter().zip(&mut self.counted).zip(&mut self.weights) {
            let more = now.saturating_sub(std::mem::replace(before, *now)) as f64;
            *weight = *weight * KEPT + more;
            latest += more;
        }
        let steady = self.weights.iter().sum::<f64>() * (1.0 - KEPT);
        self.per_look = steady.max(latest);
    }

    /// From which length on at most this part of all counts as slow.
    fn slow_ns(&self, part: f64) -> u64 {
        let mut left = self.weights.iter().sum::<f64>() * part;
        let fits = |weight: &&f64| {
            left -= **weight;
            left >= 0.0
        };
        let slow = self.weights.iter().rev().take_while(fits).count();
        bucket_from_ns(BUCKETS - slow.min(BUCKETS - 1))
    }
}

/// The rule of each endpoint, in their order, when so many rows are wanted each look: half are slow ones, half are picked at
/// random from the others. Endpoints with few requests keep them all; the others share what is left.
pub(super) fn rules(endpoints: &[&Latencies], rows_per_look: f64) -> Vec<Rule> {
    let active = endpoints.iter().filter(|latencies| latencies.per_look > 0.0).count();
    let fair = rows_per_look / active.max(1) as f64;
    let (few, many): (Vec<f64>, Vec<f64>) =
        endpoints.iter().map(|latencies| latencies.per_look).partition(|per_look| *per_look <= fair);
    let part = (rows_per_look - few.iter().sum::<f64>()) / many.iter().sum::<f64>().max(1.0);
    let rule = |latencies: &&Latencies| match latencies.per_look <= fair || part >= 1.0 {
        true => EVERYTHING,
        false => Rule { slow_ns: latencies.slow_ns(part / 2.0), one_in: (2.0 / part).ceil() as u64 },
    };
    endpoints.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets with so many more at each.
    fn latencies(looks: u64, each: &[(usize, u64)]) -> Latencies {
        let mut latencies = Latencies::default();
        for look in 1..=looks {
            let mut counted = [0; BUCKETS];
            each.iter().for_each(|(bucket, more)| counted[*bucket] = more * look);
            latencies.see(&counted);
        }
        latencies
    }

    /// Rows each look of so many requests each look.
    fn rows(rule: Rule, each: &[(usize, u64)]) -> f64 {
        let of = |(bucket, more): &(usize, u64)| {
            *more as f64 / if bucket_from_ns(*bucket) >= rule.slow_ns { 1.0 } else { rule.one_in as f64 }
        };
        each.iter().map(of).sum()
    }

    #[test]
    fn few_requests_are_all_rows() {
        let few = latencies(5, &[(10, 150), (40, 20)]);
        assert_eq!(rules(&[&few], 200.0), [EVERYTHING]);
        assert_eq!(rules(&[&Latencies::default()], 200.0), [EVERYTHING]);
        assert_eq!(rules(&[], 200.0), []);
    }

    #[test]
    fn of_many_the_slow_ones_and_a_sample() {
        let each = [(10, 870), (12, 120), (40, 10)];
        for looks in [1, 30] {
            let [rule] = rules(&[&latencies(looks, &each)], 200.0)[..] else { panic!() };
            assert!(rule.slow_ns > bucket_from_ns(12) && rule.slow_ns <= bucket_from_ns(40), "{rule:?}");
            assert!((100.0..=200.0).contains(&rows(rule, &each)), "{rule:?}");
        }
    }

    #[test]
    fn what_is_everywhere_the_same_is_a_sample_only() {
        let each = [(20, 10_000)];
        let [rule] = rules(&[&latencies(30, &each)], 200.0)[..] else { panic!() };
        assert!(rule.slow_ns > bucket_from_ns(20));
        assert_eq!(rule.one_in, 100);
    }

    #[test]
    fn a_rare_endpoint_is_kept_whole_beside_a_busy_one() {
        let (rare, busy) = ([(30, 3)], [(10, 5000)]);
        let both = [latencies(30, &rare), latencies(30, &busy)];
        let [first, second] = rules(&both.iter().collect::<Vec<_>>(), 200.0)[..] else { panic!() };
        assert_eq!(first, EVERYTHING);
        assert!(second.one_in > 25 && rows(second, &busy) < 200.0, "{second:?}");
    }

    #[test]
    fn a_flood_that_ends_is_forgotten() {
        let mut latencies = latencies(1, &[(10, 100_000)]);
        let counted = latencies.counted;
        (0..60).for_each(|_| latencies.see(&counted));
        assert_eq!(rules(&[&latencies], 200.0), [EVERYTHING]);
    }
}
