//! Ways to choose a node for a key, and another one when that node is dead.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Nodes of the first tier, and of the second that stands by.
pub const NODES: usize = 8;
pub const STAND_BY: usize = 4;

/// `String.hashCode` of Java, for keys in ASCII.
pub fn java_hash(key: &str) -> i32 {
    key.bytes().fold(0, |hash, byte| i32::from(byte).wrapping_add(hash.wrapping_mul(31)))
}

/// `new HashCodeBuilder().append(key).toHashCode()` of Apache Commons Lang.
pub fn hash_code_builder(key: &str) -> i32 {
    (17 * 37_i32).wrapping_add(java_hash(key))
}

pub fn sha256(key: &str) -> u64 {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(8).fold(0, |hash, byte| (hash << 8) | u64::from(*byte))
}

fn modulo(hash: i32, nodes: usize) -> usize {
    hash.rem_euclid(nodes as i32) as usize
}

/// Where keys of a dead node of the first tier go to in the second.
#[derive(Debug, Clone, Copy)]
pub enum SecondTier {
    SameHash,
    HashCodeBuilder,
    WithoutLastCharacter,
    Sha256,
}

impl SecondTier {
    pub fn node(self, key: &str) -> usize {
        match self {
            Self::SameHash => modulo(java_hash(key), STAND_BY),
            Self::HashCodeBuilder => modulo(hash_code_builder(key), STAND_BY),
            Self::WithoutLastCharacter => modulo(java_hash(&key[..key.len().saturating_sub(1)]), STAND_BY),
            Self::Sha256 => (sha256(key) % STAND_BY as u64) as usize,
        }
    }
}

pub fn first_tier(key: &str) -> usize {
    modulo(java_hash(key), NODES)
}

/// The living node whose hash with the key is highest: when a node dies, only its keys move, each to its own second best.
pub fn rendezvous(key: &str, dead: Option<usize>) -> usize {
    living(dead).max_by_key(|node| weight(key, *node)).unwrap_or_default()
}

/// The same with an upper bound of each node's load: a key goes to the best node that is not full (Mirrokni, Thorup, Zadimoghaddam 2018).
pub fn bounded(key: &str, dead: Option<usize>, loads: &mut [f64; NODES], load: f64, most: f64) -> usize {
    let best =
        |room: &dyn Fn(usize) -> bool| living(dead).filter(|node| room(*node)).max_by_key(|node| weight(key, *node));
    // A key that is too heavy for every node goes to its best one.
    let node = best(&|node| loads[node] + load <= most).or_else(|| best(&|_| true)).unwrap_or_default();
    loads[node] += load;
    node
}

fn living(dead: Option<usize>) -> impl Iterator<Item = usize> {
    (0..NODES).filter(move |node| Some(*node) != dead)
}

fn weight(key: &str, node: usize) -> u64 {
    xxh3_64_with_seed(key.as_bytes(), node as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_originals() {
        assert_eq!((java_hash("hello"), java_hash("")), (99_162_322, 0));
        assert_eq!(hash_code_builder("hello"), 99_162_951);
        assert_eq!(sha256("abc"), 0xba78_16bf_8f01_cfea);
    }

    #[test]
    fn only_keys_of_the_dead_node_move() {
        for key in ["a", "task-7", "order/42"] {
            let before = rendezvous(key, None);
            let other = (before + 1) % NODES;
            assert_eq!(rendezvous(key, Some(other)), before);
            assert_ne!(rendezvous(key, Some(before)), before);
        }
    }
}
