//! Runs whose truth is known, and how often the method is wrong about them.

use super::{Difference, Order, compare};

/// How much the runs of a machine differ: standard deviations of the logarithm of the median, as measured on real runs.
pub(crate) struct Noise {
    random: fastrand::Rng,
    deviation: f64,
    /// Of the step of a random walk from each run to the next.
    walk: f64,
    at: f64,
}

impl Noise {
    fn new(seed: u64, deviation: f64, walk: f64) -> Noise {
        Noise { random: fastrand::Rng::with_seed(seed), deviation, walk, at: 0.0 }
    }

    pub(crate) fn quiet(seed: u64) -> Noise {
        Noise::new(seed, 0.028, 0.0)
    }

    pub(crate) fn busy(seed: u64) -> Noise {
        Noise::new(seed, 0.093, 0.0)
    }

    pub(crate) fn drifting(seed: u64) -> Noise {
        Noise::new(seed, 0.059, 0.06)
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.random.f64(), self.random.f64());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// The logarithm of the next run's number.
    pub(crate) fn run(&mut self) -> f64 {
        self.at += self.walk * self.normal();
        self.at + self.deviation * self.normal()
    }
}

/// `by` is the true difference as a factor; `letters` is the order of one pair of pairs, or of all runs.
fn experiment(noise: &mut Noise, letters: &str, by: f64) -> Difference {
    let (mut runs, mut times): ([Vec<f64>; 2], [Vec<i64>; 2]) = Default::default();
    for (letter, time) in letters.chars().zip(0..) {
        let side = usize::from(letter == 'B');
        runs[side].push(noise.run() + if side == 1 { by.ln() } else { 0.0 });
        times[side].push(time);
    }
    let order = Order::of(&times[0], &times[1]);
    compare(&runs[0], &runs[1], &order, [&times[0], &times[1]]).expect("two runs a side")
}

const EXPERIMENTS: u64 = 2_000;

fn is_found(difference: &Difference, level: f64) -> bool {
    difference.chance().is_some_and(|chance| chance <= level) && !difference.may_be_drift()
}

/// The part of experiments that find a difference.
fn found(noise: fn(u64) -> Noise, letters: &str, by: f64) -> f64 {
    let found = (0..EXPERIMENTS).filter(|seed| is_found(&experiment(&mut noise(*seed), letters, by), 0.05));
    found.count() as f64 / EXPERIMENTS as f64
}

/// Three standard errors of a rate of 5 % in as many experiments.
const BINOMIAL: f64 = 0.015;

const TURNS: [&str; 3] = ["ABBAAB", "ABBAABBAAB", "ABBAABBAABBAABBAABBA"];
const BLOCKS: [&str; 3] = ["AAABBB", "AAAAABBBBB", "AAAAAAAAAABBBBBBBBBB"];
const UNORDERED: [&str; 3] = ["AABBBA", "AABBAABBAB", "AABBAABBAABBAABBAABB"];

#[test]
fn runs_that_are_the_same_are_rarely_different() {
    for letters in [TURNS, BLOCKS, UNORDERED].as_flattened() {
        for (machine, noise) in [("quiet", Noise::quiet as fn(u64) -> Noise), ("busy", Noise::busy)] {
            let rate = found(noise, letters, 1.0);
            assert!(rate <= 0.05 + BINOMIAL, "{machine} {letters}: {rate}");
        }
    }
}

#[test]
fn a_drift_is_no_difference() {
    for letters in [TURNS, BLOCKS].as_flattened() {
        let rate = found(Noise::drifting, letters, 1.0);
        assert!(rate <= 0.05 + BINOMIAL, "{letters}: {rate}");
    }
}

/// The least that is asked for, some points below what was seen when it was chosen.
#[test]
fn differences_are_found() {
    for (letters, by, least) in [
        (TURNS[0], 1.2, 0.85),
        (TURNS[1], 1.1, 0.95),
        (TURNS[2], 1.05, 0.90),
        (UNORDERED[1], 1.1, 0.95),
        (BLOCKS[1], 1.2, 0.90),
        (BLOCKS[2], 1.2, 0.90),
    ] {
        let rate = found(Noise::quiet, letters, by);
        assert!(rate >= least, "{letters} {by}: {rate}");
    }
}

/// What is said to be found is found as often as is said. Each experiment estimates its own noise, so the rate is about that.
#[test]
fn the_smallest_difference_that_is_told_is_found() {
    for letters in [TURNS[1], TURNS[2], UNORDERED[1], UNORDERED[2]] {
        for noise in [Noise::quiet as fn(u64) -> Noise, Noise::busy] {
            let told = (0..EXPERIMENTS).map(|seed| experiment(&mut noise(seed), letters, 1.0).found_from(0.05));
            let mut told: Vec<f64> = told.map(|from| from.expect("runs enough")).collect();
            told.sort_by(f64::total_cmp);
            let rate = found(noise, letters, 1.0 + told[told.len() / 2]);
            assert!((0.7..=0.92).contains(&rate), "{letters}: {rate}");
        }
    }
}
