//! In which order the runs of both sides were made.
//!
//! Machines drift: they get warmer, their disks fuller, their neighbours busier. Runs in turns share that; runs of one side after
//! those of the other do not, and no test can separate a drift from a difference then. Only its size can be judged.

use serde::Serialize;

/// How runs of two sides follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// In pairs, one of each side: indices into the sides.
    Pairs(#[serde(skip)] Vec<(usize, usize)>),
    /// Those of one side after those of the other, or nearly so.
    Blocks,
    /// In some other order, which shares a drift between the sides.
    Mixed,
}

/// Sides are blocks when in this part of all pairs of runs the same side comes first. In turns (ABABAB) it is 0.5 to 0.7, with
/// two of ten runs out of place 0.96.
const BLOCKS_FROM: f64 = 0.85;

impl Order {
    /// By the times at which runs began.
    pub fn of(a: &[i64], b: &[i64]) -> Order {
        let before =
            |x: &i64| b.iter().filter(|y| x < *y).count() as f64 + b.iter().filter(|y| x == *y).count() as f64 / 2.0;
        let part = a.iter().map(before).sum::<f64>() / (a.len() * b.len()).max(1) as f64;
        match pairs(a, b) {
            Some(pairs) => Order::Pairs(pairs),
            None if part >= BLOCKS_FROM || part <= 1.0 - BLOCKS_FROM => Order::Blocks,
            None => Order::Mixed,
        }
    }
}

/// The pairs, if each two runs that follow each other are one of each side. Two runs a side that are in pairs are also blocks.
fn pairs(a: &[i64], b: &[i64]) -> Option<Vec<(usize, usize)>> {
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    sequence(a, b)
        .chunks_exact(2)
        .map(|two| match (two[0], two[1]) {
            ((false, a), (true, b)) | ((true, b), (false, a)) => Some((a, b)),
            _ => None,
        })
        .collect()
}

/// All runs by time: whether each is of the second side, and its index there.
pub(crate) fn sequence(a: &[i64], b: &[i64]) -> Vec<(bool, usize)> {
    let of = |side: bool, times: &[i64]| -> Vec<_> {
        times.iter().enumerate().map(|(index, time)| (*time, side, index)).collect()
    };
    let mut all = of(false, a);
    all.extend(of(true, b));
    all.sort_unstable();
    all.into_iter().map(|(_, side, index)| (side, index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(letters: &str) -> Order {
        let times = |of: char| -> Vec<i64> {
            letters.chars().zip(0..).filter(|(letter, _)| *letter == of).map(|(_, time)| time).collect()
        };
        Order::of(&times('A'), &times('B'))
    }

    #[test]
    fn orders_are_told_apart() {
        for (letters, expected) in [
            ("ABBAABBA", Order::Pairs(vec![(0, 0), (1, 1), (2, 2), (3, 3)])),
            ("BABA", Order::Pairs(vec![(0, 0), (1, 1)])),
            ("AAAAABBBBB", Order::Blocks),
            ("BBBAAA", Order::Blocks),
            ("AAAABABBBB", Order::Blocks),
            ("AABBAABB", Order::Mixed),
            ("ABAAB", Order::Mixed),
            ("AB", Order::Blocks),
        ] {
            assert_eq!(order(letters), expected, "{letters}");
        }
    }
}
