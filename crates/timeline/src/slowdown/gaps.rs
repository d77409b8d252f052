//! Seconds within an illness that no signal finds slow: a kind of time goes on as before, but for a while it is a small
//! part of what threads do, or its run is too short. Such seconds are no baseline, and the illness counts as one.

use std::ops::Range;

use super::Detection;
use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::median::median;
use crate::signals::{Signal, runs};

/// Closes the gaps between slow stretches in which what made them slow is nearer to what it is there than to what it is when it is
/// quiet. Hours between two bad minutes are no illness: a gap is not longer than both of its sides. Where requests are known exactly,
/// they tell what is slow.
pub(super) fn close(account: &Account, slow: &mut [bool], detected: &[Detection]) {
    let stretches = runs(slow);
    if stretches.len() < 2 || account.exact_requests().is_some() {
        return;
    }
    let levels: Vec<Level<'_>> = detected.iter().filter_map(|one| Level::of(account, one)).collect();
    for pair in stretches.windows(2) {
        let (before, gap, after) = (pair[0].0..pair[0].1, pair[0].1..pair[1].0, pair[1].0..pair[1].1);
        let is_short = gap.len() <= before.len() + after.len();
        if is_short && levels.iter().any(|level| level.goes_on(&[&before, &after], &gap)) {
            slow[gap].fill(true);
        }
    }
}

/// How much there is of what a signal counts, in each second, whatever else threads do.
struct Level<'a> {
    signal: Signal,
    quiet: f64,
    slow: &'a [bool],
}

impl<'a> Level<'a> {
    /// Of a signal that counts a kind of thread time.
    fn of(account: &Account, detected: &'a Detection) -> Option<Level<'a>> {
        let kind = detected.signal.kind;
        account.states.keys().any(|state| kind.is_made_of(*state)).then(|| {
            let seconds = account.sum(|state| kind.is_made_of(state)).into_iter();
            let values = seconds.map(|ns| ns / BUCKET_NS as f64).collect();
            let signal = Signal { values, ..detected.signal.clone() };
            let quiet = signal.quiet(account.startup, &account.idle);
            Level { signal, quiet, slow: &detected.slow }
        })
    }

    /// Whether it tells slow time on both sides of a gap, and is as high in it.
    fn goes_on(&self, sides: &[&Range<usize>; 2], gap: &Range<usize>) -> bool {
        let values = &self.signal.values;
        let told = |side: &Range<usize>| {
            median(side.clone().filter(|index| self.slow[*index]).map(|index| values[index]).collect())
        };
        let at_sides = told(sides[0]).zip(told(sides[1])).map(|(one, other)| one.min(other));
        let in_gap = median(values[gap.clone()].to_vec());
        at_sides.zip(in_gap).is_some_and(|(at_sides, in_gap)| in_gap > (self.quiet + at_sides) / 2.0)
    }
}
