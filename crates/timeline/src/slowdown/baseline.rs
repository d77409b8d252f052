//! The baseline: seconds that slow ones are compared with.

use std::ops::Range;

use super::SlowInterval;
use crate::account::Account;
use crate::grid::{Grid, NEAR_BUCKETS};
use crate::startup::Startup;

/// Fewer seconds than this are no baseline.
pub(super) const BASELINE_MIN_BUCKETS: usize = 3;

/// Where so few of its seconds are near, all there are have to do.
const NEAR_MIN_BUCKETS: usize = 10;

/// The buckets of a slow stretch, and those that are near it.
pub(super) fn around(grid: Grid, interval: &SlowInterval) -> Range<usize> {
    let buckets = grid.buckets_of(interval.from_ns, interval.to_ns);
    let reach = NEAR_BUCKETS.max(buckets.len());
    buckets.start.saturating_sub(reach)..(buckets.end + reach).min(grid.len)
}

/// The seconds of it near some slow stretches; none where one of them has too few.
pub(super) fn near(grid: Grid, baseline: &[bool], intervals: &[SlowInterval]) -> Option<Vec<bool>> {
    let mut near = vec![false; baseline.len()];
    for around in intervals.iter().map(|interval| around(grid, interval)) {
        let count = baseline[around.clone()].iter().filter(|is| **is).count();
        if count < NEAR_MIN_BUCKETS {
            return None;
        }
        near[around.clone()].copy_from_slice(&baseline[around]);
    }
    Some(near)
}

/// Seconds after start-up that are not slow. The seconds between stalls that belong together are slow in the
/// story, but where stalls go through the whole recording they are all there is.
pub(super) fn baseline(account: &Account, touched: &[bool], slow: &[bool]) -> Vec<bool> {
    if !slow.contains(&true) {
        return vec![false; slow.len()];
    }
    let quiet = |marks: &[bool], from: usize| -> Vec<bool> {
        let is_at_work = |index: usize| {
            index >= from && account.recorded.contains(&index) && !account.disturbed[index] && !account.idle[index]
        };
        let is_quiet = |(index, is): (usize, &bool)| !is && is_at_work(index);
        marks.iter().enumerate().map(is_quiet).collect()
    };
    let Startup { boot_buckets, warm_up_buckets } = account.startup;
    // The second in which the work began or ended is partly idle.
    let slow_or_idle: Vec<bool> = slow.iter().zip(&account.idle).map(|(slow, idle)| *slow || *idle).collect();
    let candidates = [
        quiet(&widened(&slow_or_idle), warm_up_buckets),
        quiet(&widened(slow), warm_up_buckets),
        quiet(slow, warm_up_buckets),
        quiet(touched, warm_up_buckets),
        quiet(touched, boot_buckets),
    ];
    let at_work = account.idle.iter().filter(|idle| !**idle).count();
    let least = BASELINE_MIN_BUCKETS.max(at_work / 20);
    let enough = |marks: &Vec<bool>| marks.iter().filter(|is| **is).count() >= least;
    candidates.into_iter().find(enough).unwrap_or_else(|| vec![false; slow.len()])
}

/// The second in which it turned slow or well again is partly both.
fn widened(slow: &[bool]) -> Vec<bool> {
    (0..slow.len()).map(|index| slow[index.saturating_sub(1)..(index + 2).min(slow.len())].contains(&true)).collect()
}
