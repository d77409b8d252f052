//! The failover of each node, and the judgement over all of them.

use serde::Serialize;

use crate::routing::independence::{self, EXPECTED_MIN, Independence, SIGNIFICANT, chance, column_sums};
use crate::routing::keys::Keys;
use crate::routing::route::Route;

/// A node that gets this many times what independence would give it is in trouble: tiers are run with
/// some spare room, and a fifth more is what common targets of use (60-70 %) still swallow.
const HARM: f64 = 1.2;

/// One tier in normal operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tier {
    /// Its function, as it was written.
    pub function: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Distinct keys of each node.
    pub keys: Vec<u64>,
    /// Keys of each node with their repetitions.
    pub lines: Vec<u64>,
    /// Lines of the hottest node over the mean.
    pub hottest: f64,
}

/// What the death of one node does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failover {
    /// The node that dies.
    pub node: usize,
    /// Its distinct keys.
    pub keys: u64,
    /// Distinct keys that each node of the second tier (or each survivor) gets.
    pub to: Vec<u64>,
    /// The same with repetitions: the load.
    pub lines_to: Vec<u64>,
    /// Nodes that get any.
    pub reached: usize,
    /// The node that is hottest then.
    pub hottest_node: usize,
    /// Its keys over the mean of the nodes that could get some: of a second tier the keys that come to it, of
    /// survivors all that they then have.
    pub hottest: f64,
    /// How hot a node gets by chance and by the second function's own unevenness: the same ratio.
    pub by_chance: f64,
    /// The same ratio for the node that has the most lines.
    pub hottest_by_lines: f64,
}

/// The judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A dead node's keys spread like any others.
    Independent,
    /// They depend on each other, but no node gets too much.
    Dependent,
    /// Some dead node's keys overload some nodes and spare others.
    Skewed,
    /// Too few keys to decide.
    TooFewKeys,
}

/// A key that is a large part of all lines: no function spreads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotKey {
    /// The key.
    pub key: String,
    /// Its part of all lines, 0 to 1.
    pub share: f64,
}

/// Everything that is found out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examination {
    /// The judgement.
    pub verdict: Verdict,
    /// Distinct keys.
    pub keys: u64,
    /// Keys with their repetitions.
    pub lines: u64,
    /// The first function.
    pub first: Tier,
    /// The second, unless the first chooses among the survivors itself.
    pub second: Option<Tier>,
    /// How much the tiers depend on each other; nothing without a second function, or when one tier
    /// has only one node with keys.
    pub independence: Option<Independence>,
    /// For each node of the first tier.
    pub failovers: Vec<Failover>,
    /// The key that occurs most, when keys repeat.
    pub hot_key: Option<HotKey>,
}

/// Applies the functions to the keys. Without a second function the first has to choose among the
/// survivors itself ([`Route::survives`]).
pub fn examine(keys: &Keys, first: &Route, second: Option<&Route>) -> Examination {
    let (texts, weights): (Vec<&str>, Vec<u64>) = keys.iter().unzip();
    let places = first.place(&texts);
    let tier_one = tier(first, &places, &weights);
    let tier_two = second.map(|second| tier(second, &second.place(&texts), &weights));
    let moves: Vec<Moved> = (0..first.nodes())
        .map(|dead| {
            let of_dead = |index: &usize| places[*index] == dead;
            let orphans: Vec<usize> = (0..texts.len()).filter(of_dead).collect();
            Moved::of(&orphans, &texts, &weights, second, (first, dead, &tier_one.keys))
        })
        .collect();
    let table: Vec<Vec<u64>> = moves.iter().map(|moved| moved.keys.clone()).collect();
    let kept = second.is_none().then_some(&tier_one);
    let failovers = moves.into_iter().enumerate();
    let failovers: Vec<Failover> =
        failovers.map(|(node, moved)| failover(node, moved, &Burden::of(node, &table, kept))).collect();
    let independence = second.and_then(|_| independence::of(&table));
    Examination {
        verdict: verdict(&failovers, independence.as_ref(), second.map_or(first.nodes() - 1, Route::nodes)),
        keys: texts.len() as u64,
        lines: weights.iter().sum(),
        first: tier_one,
        second: tier_two,
        independence,
        failovers,
        hot_key: hot_key(&texts, &weights),
    }
}

fn tier(route: &Route, places: &[usize], weights: &[u64]) -> Tier {
    let (mut keys, mut lines) = (vec![0; route.nodes()], vec![0; route.nodes()]);
    for (place, weight) in places.iter().zip(weights) {
        keys[*place] += 1;
        lines[*place] += weight;
    }
    let hottest = over_mean(&lines);
    Tier { function: route.to_string(), nodes: route.nodes(), keys, lines, hottest }
}

/// The largest count over the mean; 0 when all are 0.
fn over_mean(counts: &[u64]) -> f64 {
    let all = counts.iter().sum::<u64>() as f64;
    let most = counts.iter().max().copied().unwrap_or(0) as f64;
    if all > 0.0 { most * counts.len() as f64 / all } else { 0.0 }
}

/// Where a dead node's keys went.
struct Moved {
    keys: Vec<u64>,
    lines: Vec<u64>,
}

impl Moved {
    fn of(
        orphans: &[usize],
        texts: &[&str],
        weights: &[u64],
        second: Option<&Route>,
        (first, dead, kept): (&Route, usize, &[u64]),
    ) -> Moved {
        let orphan_texts: Vec<&str> = orphans.iter().map(|index| texts[*index]).collect();
        let places = match second {
            Some(second) => second.place(&orphan_texts),
            None => first.place_orphans(&orphan_texts, dead, kept),
        };
        let nodes = second.map_or(first.nodes(), Route::nodes);
        let mut moved = Moved { keys: vec![0; nodes], lines: vec![0; nodes] };
        for (place, index) in places.into_iter().zip(orphans) {
            moved.keys[place] += 1;
            moved.lines[place] += weights[*index];
        }
        moved
    }
}

/// What the nodes that take over have after a death.
struct Burden<'a> {
    /// Those that could get some keys: a dead node gets none when its own tier takes over.
    nodes: Vec<usize>,
    /// Largest part of all keys that one of them would have without any dependence.
    largest_share: f64,
    /// What survivors have anyway.
    kept: Option<&'a Tier>,
    /// Cells of the whole table.
    cells: usize,
}

impl<'a> Burden<'a> {
    fn of(dead: usize, table: &[Vec<u64>], kept: Option<&'a Tier>) -> Burden<'a> {
        let columns = column_sums(table);
        let nodes: Vec<usize> = (0..columns.len()).filter(|node| kept.is_none() || *node != dead).collect();
        let of_second = columns.iter().copied().fold(0.0, f64::max) / columns.iter().sum::<f64>().max(1.0);
        let largest_share = if kept.is_some() { 1.0 / nodes.len().max(1) as f64 } else { of_second };
        Burden { cells: table.len() * nodes.len(), nodes, largest_share, kept }
    }

    /// What comes to each, with what it has.
    fn all(&self, moved: &[u64], kept: fn(&Tier) -> &[u64]) -> Vec<u64> {
        let has = |node: usize| self.kept.map_or(0, |tier| kept(tier)[node]);
        self.nodes.iter().map(|node| moved[*node] + has(*node)).collect()
    }
}

fn failover(node: usize, moved: Moved, burden: &Burden<'_>) -> Failover {
    let keys = burden.all(&moved.keys, |tier| &tier.keys);
    let all = keys.iter().sum::<u64>();
    let hottest = (0..keys.len()).max_by_key(|index| keys[*index]).unwrap_or(0);
    let by_chance = chance(all, burden.largest_share, burden.cells) * burden.nodes.len() as u64;
    Failover {
        node,
        keys: moved.keys.iter().sum(),
        reached: moved.keys.iter().filter(|count| **count > 0).count(),
        hottest_node: burden.nodes.get(hottest).copied().unwrap_or(0),
        hottest: over_mean(&keys),
        by_chance: if all > 0 { by_chance as f64 / all as f64 } else { 0.0 },
        hottest_by_lines: over_mean(&burden.all(&moved.lines, |tier| &tier.lines)),
        to: moved.keys,
        lines_to: moved.lines,
    }
}

fn verdict(failovers: &[Failover], independence: Option<&Independence>, targets: usize) -> Verdict {
    let is_harmed = |failover: &Failover| failover.hottest > failover.by_chance && failover.hottest >= HARM;
    let smallest = match independence {
        Some(independence) => independence.smallest_expected,
        None => failovers.iter().map(|failover| failover.keys).min().unwrap_or(0) as f64 / targets.max(1) as f64,
    };
    if targets > 1 && failovers.iter().any(is_harmed) {
        Verdict::Skewed
    } else if smallest < EXPECTED_MIN {
        Verdict::TooFewKeys
    } else if independence.is_some_and(|independence| independence.p_value < SIGNIFICANT) {
        Verdict::Dependent
    } else {
        Verdict::Independent
    }
}

fn hot_key(texts: &[&str], weights: &[u64]) -> Option<HotKey> {
    let all = weights.iter().sum::<u64>();
    let (index, most) = weights.iter().enumerate().max_by_key(|(_, weight)| **weight)?;
    (*most > 1).then(|| HotKey { key: texts[index].to_owned(), share: *most as f64 / all as f64 })
}

#[cfg(test)]
mod tests;
