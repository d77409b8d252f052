//! From hashes to nodes, for many keys at once: with bounded loads a key's node depends on the others.

use crate::routing::hash::finish_64;
use crate::routing::route::{Placement, Route};

/// Points of each node on the ring of consistent hashing; more make its arcs more even.
const POINTS: usize = 160;

impl Route {
    /// The node of each key. With bounded loads the keys count as placed in their order.
    pub(crate) fn place(&self, keys: &[&str]) -> Vec<usize> {
        match self.placement {
            Placement::Modulo(nodes) => {
                keys.iter().map(|key| self.hash(key).rem_euclid(nodes as i128) as usize).collect()
            }
            Placement::Rendezvous(nodes) => keys.iter().map(|key| highest(self.hash(key), nodes, None)).collect(),
            Placement::Bounded { nodes, load } => {
                let mut ring = Ring::new(nodes, None, keys.len(), load);
                keys.iter().map(|key| ring.place(self.hash(key))).collect()
            }
        }
    }

    /// The new node of each key that was on `dead`, when the function itself chooses among the survivors.
    /// `kept` is how many keys each node has.
    pub(crate) fn place_orphans(&self, orphans: &[&str], dead: usize, kept: &[u64]) -> Vec<usize> {
        match self.placement {
            Placement::Bounded { nodes, load } => {
                let all = kept.iter().sum::<u64>() as usize;
                let mut ring = Ring::new(nodes, Some(dead), all, load);
                ring.loads = kept.to_vec();
                orphans.iter().map(|key| ring.place(self.hash(key))).collect()
            }
            Placement::Modulo(nodes) | Placement::Rendezvous(nodes) => {
                orphans.iter().map(|key| highest(self.hash(key), nodes, Some(dead))).collect()
            }
        }
    }
}

/// The living node with the highest score.
fn highest(hash: i128, nodes: usize, dead: Option<usize>) -> usize {
    let score = |node: &usize| finish_64(finish_64(hash as u64) ^ finish_64(*node as u64 + 1));
    (0..nodes).filter(|node| Some(*node) != dead).max_by_key(score).unwrap_or(0)
}

/// Consistent hashing with bounded loads.
struct Ring {
    /// Position and node, in order.
    points: Vec<(u64, usize)>,
    loads: Vec<u64>,
    /// Keys that a node may have.
    room: u64,
}

impl Ring {
    fn new(nodes: usize, dead: Option<usize>, keys: usize, load: f64) -> Ring {
        let alive = (0..nodes).filter(|node| Some(*node) != dead);
        let at = |node: usize, point: usize| finish_64((node * POINTS + point) as u64 + 1);
        let mut points: Vec<(u64, usize)> =
            alive.clone().flat_map(|node| (0..POINTS).map(move |point| (at(node, point), node))).collect();
        points.sort_unstable();
        let mean = keys as f64 / alive.count().max(1) as f64;
        Ring { points, loads: vec![0; nodes], room: (mean * load).ceil() as u64 }
    }

    /// Takes the first node with room clockwise of the key.
    fn place(&mut self, hash: i128) -> usize {
        let position = finish_64(hash as u64);
        let start = self.points.partition_point(|(at, _)| *at < position);
        let clockwise = self.points[start..].iter().chain(&self.points[..start]);
        let mut nodes = clockwise.map(|(_, node)| *node);
        let first = nodes.clone().next().unwrap_or(0);
        let node = nodes.find(|node| self.loads[*node] < self.room).unwrap_or(first);
        self.loads[node] += 1;
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(nodes: usize, places: &[usize]) -> Vec<usize> {
        (0..nodes).map(|node| places.iter().filter(|place| **place == node).count()).collect()
    }

    #[test]
    fn no_node_takes_more_than_its_bound_and_every_key_has_one() {
        let texts: Vec<String> = (0..10_000).map(|task| format!("tenant-{}/task-{task}", task % 7)).collect();
        let keys: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (text, bound) in
            [("java-hash bounded 8 load 1.1", 1.1), ("xxh3 bounded 5 load 1", 1.0), ("java-hash rendezvous 8", 1.1)]
        {
            let route: Route = text.parse().unwrap();
            let loads = counts(route.nodes(), &route.place(&keys));
            let most = *loads.iter().max().unwrap() as f64;
            assert!(most <= (bound * 10_000.0 / route.nodes() as f64).ceil(), "{text}: {loads:?}");
            assert_eq!(loads.iter().sum::<usize>(), 10_000, "{text}");
        }
    }

    #[test]
    fn only_the_dead_node_s_keys_move_and_none_to_it() {
        let texts: Vec<String> = (0..4_000).map(|task| format!("task-{task}")).collect();
        let keys: Vec<&str> = texts.iter().map(String::as_str).collect();
        for text in ["murmur3 rendezvous 6", "murmur3 bounded 6"] {
            let route: Route = text.parse().unwrap();
            let places = route.place(&keys);
            let kept: Vec<u64> = counts(6, &places).iter().map(|count| *count as u64).collect();
            let orphans: Vec<&str> =
                keys.iter().zip(&places).filter(|(_, place)| **place == 2).map(|(key, _)| *key).collect();
            let to = counts(6, &route.place_orphans(&orphans, 2, &kept));
            assert_eq!((to[2], to.iter().sum::<usize>()), (0, orphans.len()), "{text}");
            assert!(to.iter().enumerate().all(|(node, count)| node == 2 || *count > 0), "{text}: {to:?}");
        }
    }
}
