//! A service may run in one way at one time and in another later: what is usual in one tells nothing of the other.

use std::ops::Range;

use super::around;
use crate::grid::Grid;
use crate::intervals::SlowInterval;

/// With more times than this that have nothing in common nobody looks at each for itself.
const MAX_REGIMES: usize = 16;

/// For each slow stretch, which regime it is of: stretches of one share quiet seconds near them. None where there are too many.
pub(super) fn of(grid: Grid, near: &[bool], intervals: &[SlowInterval]) -> Option<Vec<usize>> {
    let mut regimes: Vec<usize> = Vec::with_capacity(intervals.len());
    let mut last: Option<Range<usize>> = None;
    for interval in intervals {
        let here = around(grid, interval);
        let is_shared = last.is_none_or(|last| (here.start..last.end).any(|index| near[index]));
        regimes.push(regimes.last().copied().unwrap_or(0) + usize::from(!is_shared));
        last = Some(here);
    }
    regimes.last().is_none_or(|last| *last < MAX_REGIMES).then_some(regimes)
}
