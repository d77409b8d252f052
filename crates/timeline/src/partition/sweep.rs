//! From intervals that overlap to segments that do not.

use std::collections::BTreeSet;

use crate::intervals::Intervals;
use crate::states::{Precedence, ThreadState};

use super::Segment;

/// A state that some row says a thread was in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) precedence: Precedence,
    pub(crate) segment: Segment,
}

impl Candidate {
    /// What the span in a row tells.
    pub(crate) fn new(precedence: Precedence, state: ThreadState, from_ns: i64, to_ns: i64, row: u32) -> Candidate {
        Candidate { precedence, segment: Segment { from_ns, to_ns, state, row: Some(row) } }
    }
}

/// Cuts candidates so that nothing overlaps, nor lies in `taken`.
pub(crate) fn disjoint(candidates: Vec<Candidate>, taken: &Intervals) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(candidates.len());
    sweep(&candidates, |from_ns, to_ns, winner| {
        for (from_ns, to_ns) in taken.gaps(from_ns, to_ns) {
            extend(&mut segments, Segment { from_ns, to_ns, ..winner });
        }
    });
    segments
}

/// Goes through all beginnings and ends and gives each stretch between two with the one that counts.
fn sweep(candidates: &[Candidate], mut emit: impl FnMut(i64, i64, Segment)) {
    let mut edges: Vec<(i64, bool, usize)> = Vec::with_capacity(candidates.len() * 2);
    for (index, one) in candidates.iter().enumerate().filter(|(_, one)| one.segment.from_ns < one.segment.to_ns) {
        edges.push((one.segment.from_ns, true, index));
        edges.push((one.segment.to_ns, false, index));
    }
    edges.sort_unstable();
    // Of two of the same precedence the one that began last: it happens within the other.
    let key =
        |index: usize| (candidates[index].precedence, std::cmp::Reverse(candidates[index].segment.from_ns), index);
    let mut open: BTreeSet<(Precedence, std::cmp::Reverse<i64>, usize)> = BTreeSet::new();
    let mut since = i64::MIN;
    for (time, begins, index) in edges {
        if let Some((_, _, winner)) = open.first().filter(|_| since < time) {
            emit(since, time, candidates[*winner].segment);
        }
        since = time;
        if begins {
            open.insert(key(index))
        } else {
            open.remove(&key(index))
        };
    }
}

/// Adds a segment, or makes the last one longer where it goes on.
fn extend(segments: &mut Vec<Segment>, new: Segment) {
    match segments.last_mut() {
        Some(last) if last.to_ns == new.from_ns && (last.state, last.row) == (new.state, new.row) => {
            last.to_ns = new.to_ns;
        }
        _ => segments.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::Wait;

    const FAULT: ThreadState = ThreadState::Blocked(Wait::PageFault);
    const LOCK: ThreadState = ThreadState::Blocked(Wait::Lock);

    #[test]
    fn one_thing_is_it_at_a_time() {
        use Precedence::{Interruption, Unnamed, Wait};
        let none = Intervals::default();
        let stop = Intervals::union(vec![(2, 4)]);
        for (candidates, taken, expected) in [
            (vec![], &none, vec![]),
            (
                vec![(Unnamed, ThreadState::Idle, 0, 10), (Interruption, FAULT, 3, 5)],
                &none,
                vec![(0, 3, ThreadState::Idle), (3, 5, FAULT), (5, 10, ThreadState::Idle)],
            ),
            (vec![(Wait, LOCK, 0, 9)], &stop, vec![(0, 2, LOCK), (4, 9, LOCK)]),
            (vec![(Wait, LOCK, 9, 9)], &none, vec![]),
            (vec![(Wait, LOCK, i64::MIN, i64::MAX)], &none, vec![(i64::MIN, i64::MAX, LOCK)]),
        ] {
            let candidates: Vec<Candidate> =
                candidates.iter().map(|(p, state, from, to)| Candidate::new(*p, *state, *from, *to, 1)).collect();
            let found: Vec<_> = disjoint(candidates, taken).iter().map(|s| (s.from_ns, s.to_ns, s.state)).collect();
            assert_eq!(found, expected);
        }
    }
}
