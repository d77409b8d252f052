//! Prints how even each way of routing is, what a dead node does to it, and what a key costs.

mod routes;
mod trial;

use std::hint::black_box;
use std::time::Instant;

use routes::{NODES, SecondTier, bounded, first_tier, rendezvous};
use trial::{Keys, Shape, Way, outcome};

const WAYS: [(&str, Way); 7] = [
    ("hashCode mod 8, then hashCode mod 4", Way::TwoTiers(SecondTier::SameHash)),
    ("hashCode mod 8, then HashCodeBuilder mod 4", Way::TwoTiers(SecondTier::HashCodeBuilder)),
    (
        "hashCode mod 8, then hashCode of the first n−1 characters mod 4",
        Way::TwoTiers(SecondTier::WithoutLastCharacter),
    ),
    ("hashCode mod 8, then SHA-256 mod 4", Way::TwoTiers(SecondTier::Sha256)),
    ("rendezvous (XXH3) over 8", Way::Rendezvous),
    ("rendezvous, at most 1.25 × the mean", Way::Bounded(1.25)),
    ("rendezvous, at most 1.05 × the mean", Way::Bounded(1.05)),
];
const SHAPES: [(Shape, &str); 3] = [
    (Shape::EndInDigits, "that end in digits, each asked for as often"),
    (Shape::EndInRegion, "that end in one of three regions, each asked for as often"),
    (Shape::Skewed, "that end in digits, the first asked for most (Zipf, 1/rank)"),
];
/// Sets of keys, and their size, which is the same in a short run: it is where chance ends.
const SETS: usize = 20;
const SHORT_SETS: usize = 3;
const KEYS: usize = 20_000;
/// Student's t for 95 % with that many sets less one.
const T: f64 = 2.093;
const SHORT_T: f64 = 4.303;

fn main() {
    let is_short = std::env::args().skip(1).any(|argument| argument == "--short");
    let (sets, t) = if is_short { (SHORT_SETS, SHORT_T) } else { (SETS, T) };
    for (shape, says) in SHAPES {
        println!("\n{KEYS} keys {says}; {sets} sets\n");
        println!(
            "| way | hottest node, all alive | hottest share of a dead node's load | nodes that get some | hottest node after | moved in vain | ns per key |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|");
        for (name, way) in WAYS {
            println!("{}", row(name, way, shape, sets, t));
        }
    }
}

fn row(name: &str, way: Way, shape: Shape, sets: usize, t: f64) -> String {
    let keys: Vec<Keys> = (0..sets).map(|set| Keys::random(KEYS, set as u64 + 1, shape)).collect();
    let outcomes: Vec<_> = keys.iter().map(|keys| outcome(way, keys)).collect();
    let column = |of: fn(&trial::Outcome) -> f64| with_interval(&outcomes.iter().map(of).collect::<Vec<_>>(), t);
    let costs: Vec<f64> = keys.iter().map(|keys| ns_per_key(way, keys)).collect();
    let reached = outcomes.iter().map(|outcome| outcome.reached).min().unwrap_or_default();
    format!(
        "| {name} | {} × | {} × | {reached} of {} | {} × | {} % | {} |",
        column(|outcome| outcome.normal),
        column(|outcome| outcome.failover),
        if matches!(way, Way::TwoTiers(_)) { routes::STAND_BY } else { NODES - 1 },
        column(|outcome| outcome.after),
        column(|outcome| 100.0 * outcome.moved),
        with_interval(&costs, t),
    )
}

/// What it takes to route a key whose node is dead: the first choice and the next. The fastest of some rounds: others only make one slower.
fn ns_per_key(way: Way, keys: &Keys) -> f64 {
    const ROUNDS: usize = 5;
    (0..ROUNDS).map(|_| ns_of_a_round(way, keys)).fold(f64::INFINITY, f64::min)
}

fn ns_of_a_round(way: Way, keys: &Keys) -> f64 {
    let mut loads = [0.0; NODES];
    let most = match way {
        Way::Bounded(times) => times * keys.loads.iter().sum::<f64>() / (NODES - 1) as f64,
        _ => f64::INFINITY,
    };
    let began = Instant::now();
    for (key, load) in keys.names.iter().zip(&keys.loads) {
        black_box(match way {
            Way::TwoTiers(second) => first_tier(black_box(key)) + second.node(key),
            Way::Rendezvous => rendezvous(black_box(key), Some(0)),
            Way::Bounded(_) => bounded(black_box(key), Some(0), &mut loads, *load, most),
        });
    }
    began.elapsed().as_nanos() as f64 / keys.names.len() as f64
}

/// The mean, with the half width of its 95 % confidence interval.
fn with_interval(values: &[f64], t: f64) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:.2} ± {:.2}", t * (variance / count).sqrt())
}
