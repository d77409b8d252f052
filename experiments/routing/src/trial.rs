//! One set of keys under one way of routing: how even it is, and where the keys of a dead node go.

use crate::routes::{NODES, STAND_BY, SecondTier, bounded, first_tier, rendezvous};

#[derive(Debug, Clone, Copy)]
pub enum Way {
    TwoTiers(SecondTier),
    Rendezvous,
    /// With at most so many times the mean load on a node.
    Bounded(f64),
}

/// A key and how often it is asked for.
pub struct Keys {
    pub names: Vec<String>,
    pub loads: Vec<f64>,
}

/// What keys look like at their end, and how often each is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    EndInDigits,
    /// `eu`, `us` or `ap`: the last character has three values.
    EndInRegion,
    /// In digits; the first is asked for most, the others as Zipf's law with exponent 1 says.
    Skewed,
}

impl Keys {
    pub fn random(count: usize, seed: u64, shape: Shape) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let names = (0..count).map(|_| {
            let (region, number) = (["eu", "us", "ap"][random.usize(..3)], random.u32(..100_000_000));
            match shape {
                Shape::EndInRegion => format!("task-{number:08}-{region}"),
                Shape::EndInDigits | Shape::Skewed => format!("task-{region}-{number:08}"),
            }
        });
        let load = |index: usize| if let Shape::Skewed = shape { 1.0 / (index + 1) as f64 } else { 1.0 };
        Self { names: names.collect(), loads: (0..count).map(load).collect() }
    }
}

/// What became of the keys.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The hottest node's load over the mean, with all nodes alive.
    pub normal: f64,
    /// The load that the hottest node gets in addition when a node dies, over the mean of those that could get it; the worst of all nodes.
    pub failover: f64,
    /// How many nodes get something then, at least.
    pub reached: usize,
    /// The hottest node's whole load then, over the mean of the living (rendezvous) or of the tier (two tiers).
    pub after: f64,
    /// The share of all load that moved although its node lives, at most.
    pub moved: f64,
}

pub fn outcome(way: Way, keys: &Keys) -> Outcome {
    let before = places(way, keys, None);
    let mut outcome =
        Outcome { normal: over_mean(&loads(&before, keys, |_| true)[..]), reached: NODES, ..Outcome::default() };
    for dead in 0..NODES {
        let after = places(way, keys, Some(dead));
        let orphans = |index: usize| before[index] == dead;
        let mut gained = loads(&after, keys, orphans);
        let mut all = loads(&after, keys, |index| !matches!(way, Way::TwoTiers(_)) || orphans(index));
        let receivers = if let Way::TwoTiers(_) = way { STAND_BY } else { NODES - 1 };
        if receivers == NODES - 1 {
            (gained, all) = (without(&gained, dead), without(&all, dead));
        } else {
            (gained, all) = (gained[..STAND_BY].to_vec(), all[..STAND_BY].to_vec());
        }
        let moved: f64 = (0..keys.names.len())
            .filter(|index| !orphans(*index) && after[*index] != before[*index])
            .map(|index| keys.loads[index])
            .sum();
        outcome.failover = outcome.failover.max(over_mean(&gained));
        outcome.reached = outcome.reached.min(gained.iter().filter(|load| **load > 0.0).count());
        outcome.after = outcome.after.max(over_mean(&all));
        outcome.moved = outcome.moved.max(moved / keys.loads.iter().sum::<f64>());
    }
    outcome
}

/// The node of each key. Keys of the first tier's dead node are in the second tier, whose nodes are numbered anew.
fn places(way: Way, keys: &Keys, dead: Option<usize>) -> Vec<usize> {
    match way {
        Way::TwoTiers(second) => {
            let place = |key: &String| if Some(first_tier(key)) == dead { second.node(key) } else { first_tier(key) };
            keys.names.iter().map(place).collect()
        }
        Way::Rendezvous => keys.names.iter().map(|key| rendezvous(key, dead)).collect(),
        Way::Bounded(times) => {
            let living = NODES - usize::from(dead.is_some());
            let most = times * keys.loads.iter().sum::<f64>() / living as f64;
            let mut loads = [0.0; NODES];
            keys.names.iter().zip(&keys.loads).map(|(key, load)| bounded(key, dead, &mut loads, *load, most)).collect()
        }
    }
}

fn loads(places: &[usize], keys: &Keys, counts: impl Fn(usize) -> bool) -> Vec<f64> {
    let mut loads = vec![0.0; NODES];
    for (index, place) in places.iter().enumerate().filter(|(index, _)| counts(*index)) {
        loads[*place] += keys.loads[index];
    }
    loads
}

fn without(loads: &[f64], dead: usize) -> Vec<f64> {
    loads.iter().enumerate().filter(|(node, _)| *node != dead).map(|(_, load)| *load).collect()
}

fn over_mean(loads: &[f64]) -> f64 {
    loads.iter().copied().fold(0.0, f64::max) * loads.len() as f64 / loads.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [Way; 5] = [
        Way::TwoTiers(SecondTier::SameHash),
        Way::TwoTiers(SecondTier::HashCodeBuilder),
        Way::TwoTiers(SecondTier::WithoutLastCharacter),
        Way::TwoTiers(SecondTier::Sha256),
        Way::Rendezvous,
    ];

    fn reached(shape: Shape) -> [usize; 5] {
        let keys = Keys::random(10_000, 1, shape);
        WAYS.map(|way| outcome(way, &keys).reached)
    }

    #[test]
    fn hashes_of_one_family_reach_one_node_and_others_all() {
        assert_eq!(reached(Shape::EndInDigits), [1, 1, 4, 4, 7]);
    }

    #[test]
    fn without_the_last_character_only_that_one_spreads() {
        let [_, _, prefix, sha, _] = reached(Shape::EndInRegion);
        assert_eq!((prefix, sha), (3, 4));
    }

    #[test]
    fn a_bound_holds_and_costs_moves() {
        let keys = Keys::random(10_000, 1, Shape::Skewed);
        let (free, bounded) = (outcome(Way::Rendezvous, &keys), outcome(Way::Bounded(1.1), &keys));
        assert!(free.normal > 1.2 && bounded.normal <= 1.1 && bounded.after <= 1.1, "{free:?} {bounded:?}");
        assert!(free.moved == 0.0 && bounded.moved > 0.0);
    }
}
