//! A routing function as a user writes it: `first N-1 chars java-hash mod 4`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::routing::hash::{Hash, NAMES, finish_32, finish_64};

/// More nodes than any tier that is routed by one function; the tables stay small.
pub const MAX_NODES: usize = 512;

/// A routing function: key → hash → node.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    text: String,
    prefix: Option<Prefix>,
    hash: Hash,
    seed: Option<u64>,
    mix: Option<Mix>,
    pub(crate) placement: Placement,
}

/// Which characters (UTF-16 units, as Java counts them) are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// The first so many.
    First(usize),
    /// All but the last so many.
    AllBut(usize),
}

/// What is done to the hash before a node is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    /// `h ^ h >>> 16`, as `java.util.HashMap` does.
    Spread,
    /// The last step of MurmurHash3.
    Finish,
}

/// How a hash chooses a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Placement {
    /// The remainder, never negative (`Math.floorMod`).
    Modulo(usize),
    /// The node with the highest score of node and key (highest random weight).
    Rendezvous(usize),
    /// Consistent hashing in which no node takes more than `load` times the mean.
    Bounded { nodes: usize, load: f64 },
}

/// What is wrong with a routing function.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// A word that means nothing here.
    #[error("{0:?} is not understood; write for example 'java-hash mod 8', or see fathom routing --help")]
    Word(String),
    /// A number is missing or out of range.
    #[error("{after:?} wants {wanted}, not {found:?}")]
    Number {
        /// The word before it.
        after: &'static str,
        /// What should stand there.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// No hash function is named.
    #[error("names no hash; there are {}", names())]
    NoHash,
    /// It does not say how a node is chosen.
    #[error("does not say how a node is chosen: end with 'mod N', 'rendezvous N' or 'bounded N'")]
    NoPlacement,
    /// A seed for a hash that has none.
    #[error("{0} takes no seed")]
    NoSeed(&'static str),
}

fn names() -> String {
    NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Route {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Route, RouteError> {
        let mut words = text.split_whitespace();
        let (mut prefix, mut hash, mut seed, mut mix, mut placement) = (None, None, None, None, None);
        let mut load = None;
        while let Some(word) = words.next() {
            match word {
                "first" => {
                    prefix = Some(prefix_of(words.next().unwrap_or(""))?);
                    words.next().filter(|word| matches!(*word, "chars" | "char")).ok_or_else(|| wants_chars(text))?;
                }
                "seed" => seed = Some(number("seed", words.next(), "a whole number", |_: &u64| true)?),
                "spread" => mix = Some(Mix::Spread),
                "mix" => mix = Some(Mix::Finish),
                "mod" => placement = Some(Placement::Modulo(nodes("mod", words.next())?)),
                "rendezvous" => placement = Some(Placement::Rendezvous(nodes("rendezvous", words.next())?)),
                "bounded" => {
                    placement = Some(Placement::Bounded { nodes: nodes("bounded", words.next())?, load: LOAD })
                }
                "load" => load = Some(load_of(words.next())?),
                name => hash = Some(hash_of(name)?),
            }
        }
        let (hash, mut placement) = (hash.ok_or(RouteError::NoHash)?, placement.ok_or(RouteError::NoPlacement)?);
        if seed.is_some() && !hash.takes_seed() {
            return Err(RouteError::NoSeed(name_of(hash)));
        }
        match (&mut placement, load) {
            (Placement::Bounded { load: default, .. }, Some(load)) => *default = load,
            (_, Some(_)) => return Err(RouteError::Word("load".to_owned())),
            (_, None) => {}
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Route { text, prefix, hash, seed, mix, placement })
    }
}

/// The factor over the mean that proxies commonly use.
const LOAD: f64 = 1.25;

fn hash_of(name: &str) -> Result<Hash, RouteError> {
    let found = NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, hash)| *hash).ok_or_else(|| RouteError::Word(name.to_owned()))
}

fn name_of(hash: Hash) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == hash).map_or("", |(name, _)| name)
}

/// `12`, or `N-1` for all but the last one.
fn prefix_of(word: &str) -> Result<Prefix, RouteError> {
    let wanted = || "a number of characters, or N-1 for all but the last";
    match word.strip_prefix("N-").or_else(|| word.strip_prefix("n-")) {
        Some(rest) => Ok(Prefix::AllBut(number("first", Some(rest), wanted(), |count| *count > 0)?)),
        None => Ok(Prefix::First(number("first", Some(word), wanted(), |count| *count > 0)?)),
    }
}

fn wants_chars(text: &str) -> RouteError {
    let wanted = "its number followed by 'chars', as in 'first N-1 chars'".to_owned();
    RouteError::Number { after: "first", wanted, found: text.to_owned() }
}

fn nodes(after: &'static str, word: Option<&str>) -> Result<usize, RouteError> {
    number(after, word, &format!("a number of nodes from 1 to {MAX_NODES}"), |nodes| (1..=MAX_NODES).contains(nodes))
}

fn load_of(word: Option<&str>) -> Result<f64, RouteError> {
    number("load", word, "how many times the mean a node may take, from 1 to 100", |load: &f64| {
        (1.0..=100.0).contains(load)
    })
}

fn number<T: FromStr>(
    after: &'static str,
    word: Option<&str>,
    wanted: &str,
    fits: impl Fn(&T) -> bool,
) -> Result<T, RouteError> {
    let word = word.unwrap_or("");
    let parsed = word.parse().ok().filter(fits);
    parsed.ok_or_else(|| RouteError::Number { after, wanted: wanted.to_owned(), found: word.to_owned() })
}

impl Route {
    /// Number of nodes that it chooses from.
    pub fn nodes(&self) -> usize {
        match self.placement {
            Placement::Modulo(nodes) | Placement::Rendezvous(nodes) | Placement::Bounded { nodes, .. } => nodes,
        }
    }

    /// Whether it says itself where a dead node's keys go.
    pub fn survives(&self) -> bool {
        !matches!(self.placement, Placement::Modulo(_))
    }

    /// The hash of a key, mixed.
    pub(crate) fn hash(&self, key: &str) -> i128 {
        let units: Vec<u16> = key.encode_utf16().collect();
        let length = match self.prefix {
            None => units.len(),
            Some(Prefix::First(count)) => count.min(units.len()),
            Some(Prefix::AllBut(count)) => units.len().saturating_sub(count),
        };
        let hash = self.hash.of(&units[..length], self.seed);
        match (self.mix, self.hash.is_32_bits()) {
            (None, _) => hash,
            (Some(Mix::Spread), true) => i128::from((hash as u32 ^ hash as u32 >> 16) as i32),
            (Some(Mix::Spread), false) => i128::from(hash as u64 ^ hash as u64 >> 32),
            (Some(Mix::Finish), true) => i128::from(finish_32(hash as u32)),
            (Some(Mix::Finish), false) => i128::from(finish_64(hash as u64)),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_as_people_write_them() {
        for (text, nodes, survives) in [
            ("java-hash mod 8", 8, false),
            ("first N-1 chars java-hash mod 4", 4, false),
            ("java-hash  first 12 chars mod 4", 4, false),
            ("murmur3 seed 42 mod 4", 4, false),
            ("java-hash spread mod 16", 16, false),
            ("java-hash mix mod 16", 16, false),
            ("xxh3 rendezvous 12", 12, true),
            ("sha256 bounded 12 load 1.5", 12, true),
            ("fnv1a bounded 7", 7, true),
        ] {
            let route: Route = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((route.nodes(), route.survives()), (nodes, survives), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_understood_says_what_to_write() {
        for (text, says) in [
            ("", "names no hash"),
            ("mod 8", "names no hash"),
            ("md5 mod 8", "\"md5\" is not understood"),
            ("java-hash", "how a node is chosen"),
            ("java-hash mod 0", "from 1 to 512"),
            ("java-hash mod -3", "from 1 to 512"),
            ("java-hash mod", "from 1 to 512"),
            ("java-hash mod 1000000", "from 1 to 512"),
            ("java-hash seed 7 mod 8", "java-hash takes no seed"),
            ("murmur3 seed x mod 8", "a whole number"),
            ("first chars java-hash mod 8", "number of characters"),
            ("first N-1 java-hash mod 8", "followed by 'chars'"),
            ("java-hash mod 8 load 2", "\"load\" is not understood"),
            ("xxh3 bounded 8 load 0.5", "from 1 to 100"),
        ] {
            let error = text.parse::<Route>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn prefixes_are_counted_in_java_s_characters() {
        let of = |text: &str, key: &str| text.parse::<Route>().unwrap().hash(key);
        let whole = |key: &str| of("java-hash mod 2", key);
        assert_eq!(of("first N-1 chars java-hash mod 2", "abc"), whole("ab"));
        assert_eq!(of("first 1 chars java-hash mod 2", "abc"), whole("a"));
        assert_eq!(of("first 9 chars java-hash mod 2", "abc"), whole("abc"));
        assert_eq!(of("first N-5 chars java-hash mod 2", "abc"), whole(""));
        // Java cuts a surrogate pair in two.
        assert_eq!(of("first N-1 chars java-hash mod 2", "a\u{1f600}"), 97 * 31 + 0xd83d);
    }
}
