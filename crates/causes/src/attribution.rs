//! Assigns lost time to causes.
//!
//! Lost time is a list of pieces, each with an identity: a wait of a thread from one time to another, a stop, or an amount
//! whose kind alone is known. A cause claims parts of pieces. The claimants with the best support get a piece. If one of
//! them refines another (is its more specific mechanism), it comes first. What several claim with equal right is divided
//! equally. The end of a chain of waits comes before the waiting itself: a thread that waits for a lock loses its time to
//! whatever holds up the lock's owner.

use std::collections::BTreeMap;

use fathom_evidence::{StackId, StrId};
use fathom_timeline::{Root, ThreadState, Wait};

use crate::cause::{Cause, Claim, Support};
use crate::comparison::Comparison;
use crate::piece::{Level, Piece};

/// Lost time that no cause claims, in ns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Left {
    /// By kind of time.
    pub(crate) by_state: BTreeMap<ThreadState, f64>,
    /// Of waits, by kind and by the stack of who waited.
    pub(crate) by_stack: BTreeMap<(ThreadState, StackId), f64>,
}

impl Left {
    fn add_piece(&mut self, comparison: &Comparison<'_>, piece: &Piece, ns: f64) {
        let Some(own) = piece.levels.last().filter(|_| ns > 0.0) else { return };
        *self.by_state.entry(own.state).or_default() += ns;
        if let Some(row) = piece.row {
            let stack = comparison.recording().spans.stack_id[row as usize];
            *self.by_stack.entry((own.state, stack)).or_default() += ns;
        }
    }

    /// Takes over what was left in another part of the slow time.
    pub(crate) fn add(&mut self, other: &Left) {
        other.by_state.iter().for_each(|(state, ns)| *self.by_state.entry(*state).or_default() += ns);
        other.by_stack.iter().for_each(|(key, ns)| *self.by_stack.entry(*key).or_default() += ns);
    }
}

/// What a cause was given.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Given {
    /// In ns, by kind of time.
    pub(crate) taken: BTreeMap<ThreadState, f64>,
    /// The part of it that threads waited for others which lost it, in ns.
    pub(crate) along_ns: f64,
    /// What no other cause claims, in ns.
    pub(crate) only_ns: f64,
    /// All that it claims, in ns.
    pub(crate) reach_ns: f64,
}

impl Given {
    /// All of it, in ns.
    pub(crate) fn total_ns(&self) -> f64 {
        // `sum()` of an empty iterator of floats is -0.0.
        0.0 + self.taken.values().sum::<f64>()
    }

    /// Takes over what was given in another part of the slow time.
    pub(crate) fn add(&mut self, other: &Given) {
        other.taken.iter().for_each(|(state, ns)| *self.taken.entry(*state).or_default() += ns);
        self.along_ns += other.along_ns;
        self.only_ns += other.only_ns;
        self.reach_ns += other.reach_ns;
    }
}

/// A cause with how well it is supported and what it claims.
pub(crate) struct Claimant<'c> {
    pub(crate) cause: &'static Cause,
    pub(crate) support: Support,
    pub(crate) claims: &'c [Claim],
}

/// Hands out all pieces: what each claimant is given, and what no cause claims.
pub(crate) fn attribute(comparison: &Comparison<'_>, claimants: &[Claimant<'_>]) -> (Vec<Given>, Left) {
    let mut given = vec![Given::default(); claimants.len()];
    let mut left = Left::default();
    let lost = || if comparison.is_slow() { pieces(comparison) } else { Vec::new() };
    for piece in comparison.pieces.get_or_init(lost) {
        let rest = share_out(comparison, piece, claimants, &mut given);
        left.add_piece(comparison, piece, piece.lost_ns * rest);
    }
    (given, left)
}

/// Shares out one piece, level by level; gives the part that is left. A suspicion of what was waited for does not come before
/// a mechanism that was seen, be it only that of the waiting.
fn share_out(comparison: &Comparison<'_>, piece: &Piece, claimants: &[Claimant<'_>], given: &mut [Given]) -> f64 {
    let mut left = 1.0;
    let mut reach = vec![0.0; claimants.len()];
    let mut of_level: Vec<f64> = piece.levels.iter().map(|level| level.part).collect();
    for suspected in [false, true] {
        for (depth, level) in piece.levels.iter().enumerate() {
            let mut claimed: Vec<(usize, f64)> = claimants
                .iter()
                .enumerate()
                .filter(|(_, claimant)| (claimant.support >= Support::Weak) == suspected)
                .map(|(index, claimant)| (index, level.part * claimant.part_of(comparison, level)))
                .filter(|(_, part)| *part > 0.0)
                .collect();
            claimed.iter().for_each(|(index, part)| reach[*index] = f64::min(1.0, reach[*index] + part));
            for (index, part) in divide(&mut claimed, claimants, of_level[depth].min(left)) {
                let ns = piece.lost_ns * part;
                *given[index].taken.entry(level.state).or_default() += ns;
                given[index].along_ns += if depth + 1 < piece.levels.len() { ns } else { 0.0 };
                of_level[depth] -= part;
                left -= part;
            }
        }
    }
    let others: f64 = reach.iter().sum();
    for (given, reach) in given.iter_mut().zip(reach) {
        given.reach_ns += piece.lost_ns * reach;
        given.only_ns += piece.lost_ns * (reach - (others - reach)).clamp(0.0, reach);
    }
    left.max(0.0)
}

/// Divides a piece among those that claim parts of it: best supported first, the more specific mechanism first.
fn divide(claimed: &mut Vec<(usize, f64)>, claimants: &[Claimant<'_>], most: f64) -> Vec<(usize, f64)> {
    let mut given = Vec::new();
    let mut left = most;
    while left > 0.0 && !claimed.is_empty() {
        let of = |index: usize| &claimants[index];
        // A suspicion refines nothing that was seen.
        let is_refined = |index: usize| {
            let by = |other: usize| {
                of(other).cause.refines(of(index).cause)
                    && (of(other).support < Support::Weak || of(index).support >= Support::Weak)
            };
            claimed.iter().any(|(other, _)| by(*other))
        };
        let free: Vec<(usize, f64)> = claimed.iter().copied().filter(|(index, _)| !is_refined(*index)).collect();
        let best = free.iter().map(|(index, _)| of(*index).support).min();
        let front: Vec<(usize, f64)> = free.into_iter().filter(|(index, _)| Some(of(*index).support) == best).collect();
        // Refining has no circles; were there one, all of it would be equally specific.
        let front = if front.is_empty() { claimed.clone() } else { front };
        let total: f64 = front.iter().map(|(_, part)| part).sum();
        let scale = (left / total).min(1.0);
        given.extend(front.iter().map(|(index, part)| (*index, part * scale)));
        left -= total * scale;
        claimed.retain(|(index, _)| !front.iter().any(|(done, _)| done == index));
        // What remains is claimed of the same time: a part that is given is not there any more.
        for (_, part) in claimed.iter_mut() {
            *part = part.min(left);
        }
    }
    given
}

impl Claimant<'_> {
    /// The part of a level that it claims.
    fn part_of(&self, comparison: &Comparison<'_>, level: &Level) -> f64 {
        let claims = self.claims.iter().filter(|claim| claim.state == level.state);
        claims.map(|claim| claim.part_of(comparison, level)).sum::<f64>().min(1.0)
    }
}

/// The pieces of a slowdown.
fn pieces(comparison: &Comparison<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for excess in comparison.excess().states.iter().filter(|excess| excess.lost_ns() > 0.0) {
        let grown = excess.lost_ns() / excess.slow_ns.max(1.0);
        let of_state = match excess.state {
            ThreadState::Stopped(_) => stops(comparison, excess.state, grown),
            ThreadState::Blocked(wait) if wait.row().is_ended_by_a_thread => waits_for_threads(comparison, wait, grown),
            ThreadState::Blocked(wait) if !wait.row().is_a_sum => waits(comparison, excess.state, excess.lost_ns()),
            state => vec![Piece::of(excess.lost_ns(), Level { state, when: None, grown: 1.0, part: 1.0 }, None)],
        };
        pieces.extend(no_more_than(excess.lost_ns(), of_state));
    }
    pieces
}

/// Pieces are measured from their beginning to their end in all of the slow time, the excess in parts of buckets and only in
/// those that were recorded: together the pieces take no more than that.
fn no_more_than(lost_ns: f64, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let all: f64 = pieces.iter().map(|piece| piece.lost_ns).sum();
    let part = if all > lost_ns { lost_ns / all } else { 1.0 };
    pieces.iter_mut().for_each(|piece| piece.lost_ns *= part);
    pieces
}

fn stops(comparison: &Comparison<'_>, state: ThreadState, grown: f64) -> Vec<Piece> {
    let stops = comparison.slow_stops().filter(|stop| ThreadState::Stopped(stop.stop) == state);
    let pieces = stops.map(|stop| {
        let ns = comparison.slow.time.within_ns(stop.from_ns, stop.to_ns) as f64;
        let level = Level { state, when: Some((0, stop.from_ns, stop.to_ns)), grown, part: 1.0 };
        Piece::of(ns * comparison.excess().concurrency * grown, level, None)
    });
    pieces.collect()
}

/// Waits of one kind. What grew among them has a name (a peer, a file): each name has of the whole excess its part of what
/// the names grew by.
fn waits(comparison: &Comparison<'_>, state: ThreadState, lost_ns: f64) -> Vec<Piece> {
    let grown = comparison.grown_by_name(state);
    let all: f64 = grown.values().map(|(_, grown)| grown).sum();
    let rate = |name: StrId| {
        let (slow_ns, grown) = grown.get(&name).copied().unwrap_or_default();
        if all > 0.0 { lost_ns * (grown / all) / slow_ns.max(1.0) } else { 0.0 }
    };
    let waits = comparison.slow_waits().filter(|(_, segment, _)| segment.state == state);
    waits
        .map(|(tid, segment, name)| {
            let ns = segment.within_ns(&comparison.slow.time) as f64;
            let grown = rate(name);
            let level = Level { state, when: Some((tid, segment.from_ns, segment.to_ns)), grown, part: 1.0 };
            Piece::of(ns * grown, level, segment.row)
        })
        .filter(|piece| piece.lost_ns > 0.0)
        .collect()
}

/// Waits for other threads, with what those did.
fn waits_for_threads(comparison: &Comparison<'_>, wait: Wait, grown: f64) -> Vec<Piece> {
    let resolved = comparison.resolved();
    let ran_ns: f64 =
        resolved.iter().filter_map(|piece| piece.root).filter(Root::ran).map(|root| root.length_ns()).sum();
    let waits = resolved.iter().filter(|waiting| waiting.wait == wait);
    let pieces = waits.map(|waiting| {
        // One of those that waited stands for all of them.
        let span = waiting.row.map(|row| comparison.recording().spans.row(row as usize));
        let when = span.map(|span| (span.tid, span.time_ns, span.end_ns()));
        let own = Level { state: ThreadState::Blocked(wait), when, grown: 1.0, part: 1.0 };
        let mut levels = waiting.root.map_or_else(Vec::new, |root| roots(comparison, &root, ran_ns));
        levels.push(own);
        Piece { lost_ns: waiting.waiting_ns * grown, levels, row: waiting.row }
    });
    pieces.collect()
}

/// What the other side did. One that ran did what the application's running is made of; all of them together ran no more
/// than the application did, since not every wait is recorded.
fn roots(comparison: &Comparison<'_>, root: &Root, ran_ns: f64) -> Vec<Level> {
    if !root.ran() {
        let when = Some((root.tid, root.segment.from_ns, root.segment.to_ns));
        return vec![Level { state: root.segment.state, when, grown: 1.0, part: 1.0 }];
    }
    let (all, _) = comparison.excess().sums(|state| matches!(state, ThreadState::Running(_)));
    let running = comparison.excess().states.iter().filter(|excess| matches!(excess.state, ThreadState::Running(_)));
    let part = |slow_ns: f64| slow_ns / all.max(ran_ns).max(1.0);
    running.map(|excess| Level { state: excess.state, when: None, grown: 1.0, part: part(excess.slow_ns) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::family::Refined;

    fn claimant(id: &str, support: Support) -> Claimant<'static> {
        let cause = catalog().iter().find(|cause| cause.id == id).unwrap();
        Claimant { cause, support, claims: &[] }
    }

    #[test]
    fn support_comes_first_then_the_more_specific_mechanism_and_equals_share() {
        use Support::{Observed, Weak};
        let names = ["lazy_symbol_binding", "block_device_slow", "file_pages_evicted", "slow_downstream"];
        for (supports, claims, expected) in [
            ([Observed, Observed, Observed, Observed], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
            ([Weak, Observed, Weak, Observed], [1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]),
            ([Weak, Observed, Weak, Observed], [1.0, 0.4, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]),
            ([Observed, Observed, Observed, Observed], [0.3, 1.0, 0.0, 0.0], [0.3, 0.7, 0.0, 0.0]),
            ([Observed, Observed, Observed, Observed], [0.0, 1.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.5]),
            ([Observed, Observed, Observed, Observed], [0.0, 0.2, 0.0, 0.2], [0.0, 0.2, 0.0, 0.2]),
        ] {
            let claimants: Vec<Claimant<'_>> =
                names.iter().zip(supports).map(|(name, support)| claimant(name, support)).collect();
            let mut claimed: Vec<(usize, f64)> =
                claims.into_iter().enumerate().filter(|(_, part)| *part > 0.0).collect();
            let mut parts = [0.0; 4];
            divide(&mut claimed, &claimants, 1.0).iter().for_each(|(index, part)| parts[*index] += part);
            for (part, expected) in parts.iter().zip(expected) {
                assert!((part - expected).abs() < 1e-9, "{parts:?} instead of {expected:?}");
            }
        }
    }

    #[test]
    fn refining_has_no_circles_and_names_causes_that_exist() {
        fn reaches(from: &Cause, to: &Cause, seen: &mut Vec<&'static str>) -> bool {
            catalog().iter().filter(|next| from.refines(next)).any(|next| {
                let is_new = !seen.contains(&next.id);
                seen.push(next.id);
                next.id == to.id || is_new && reaches(next, to, seen)
            })
        }
        for cause in catalog() {
            let names = cause.refines.iter().filter_map(|refined| match refined {
                Refined::Cause(name) => Some(*name),
                Refined::Family(_) => None,
            });
            let equals = cause.equals.iter().flat_map(|(ids, _)| ids.iter().copied());
            names
                .chain(equals)
                .for_each(|name| assert!(catalog().iter().any(|other| other.id == name), "{}: {name}", cause.id));
            assert!(!reaches(cause, cause, &mut Vec::new()), "{} refines itself", cause.id);
        }
    }
}
