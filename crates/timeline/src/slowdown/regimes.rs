//! A service may run in one way at one time and in another later. What is usual in one regime says nothing of the other.

use std::ops::Range;

use super::baseline::around;
use super::{SlowInterval, Slowdown};
use crate::grid::Grid;

/// With more regimes than this they are not looked at separately.
const MAX_REGIMES: usize = 16;

/// For each slow stretch, which regime it is of: stretches of one share seconds of the baseline near them. None where there are too many.
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

/// The slow stretches of one regime, in buckets.
#[derive(Debug, PartialEq)]
pub(crate) struct Regime {
    /// Each of them.
    pub(crate) slow: Vec<Range<usize>>,
    /// Each with what is near it.
    pub(crate) around: Vec<Range<usize>>,
    /// The baseline near any of them, in order.
    pub(crate) baseline: Vec<usize>,
}

impl Regime {
    fn of<'i>(grid: Grid, baseline: &[bool], intervals: impl Iterator<Item = &'i SlowInterval> + Clone) -> Regime {
        let slow = intervals.clone().map(|interval| grid.buckets_of(interval.from_ns, interval.to_ns)).collect();
        let around: Vec<Range<usize>> = intervals.map(|interval| around(grid, interval)).collect();
        // Thousands of stretches lie near the same seconds.
        let mut near = vec![false; baseline.len()];
        around.iter().for_each(|around| near[around.clone()].fill(true));
        let near_any = (0..baseline.len()).filter(|index| near[*index] && baseline[*index]).collect();
        Regime { slow, around, baseline: near_any }
    }
}

impl Slowdown {
    /// The slow stretches by regime, in order.
    pub(crate) fn by_regime(&self, grid: Grid) -> Vec<Regime> {
        let all: Vec<(&SlowInterval, &usize)> = self.intervals.iter().zip(&self.regimes).collect();
        let alike = all.chunk_by(|(_, one), (_, next)| one == next);
        alike.map(|alike| Regime::of(grid, &self.baseline, alike.iter().map(|(interval, _)| *interval))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::BUCKET_NS;
    use crate::signals::SignalKind;

    fn slowdown(grid: Grid, stretches: impl Iterator<Item = (usize, usize, usize)>) -> Slowdown {
        let mut slowdown = Slowdown { baseline: vec![true; grid.len], ..Slowdown::default() };
        for (from, to, regime) in stretches {
            let (from_ns, to_ns) = (grid.start_of(from), grid.start_of(to));
            slowdown.intervals.push(SlowInterval { from_ns, to_ns, signal: SignalKind::Given, worst: 1.0 });
            slowdown.regimes.push(regime);
            slowdown.baseline[from..to].fill(false);
        }
        slowdown
    }

    #[test]
    fn each_regime_has_the_quiet_seconds_near_its_stretches() {
        let grid = Grid::covering(0, 3_000 * BUCKET_NS);
        let stretches = [(310, 320, 0), (400, 900, 0), (2_500, 2_501, 1), (2_510, 2_512, 1)];
        let found = slowdown(grid, stretches.into_iter()).by_regime(grid);
        let regime = |slow: [Range<usize>; 2], around: [Range<usize>; 2], near: Range<usize>| Regime {
            baseline: near.filter(|index| slow.iter().all(|slow| !slow.contains(index))).collect(),
            slow: slow.to_vec(),
            around: around.to_vec(),
        };
        let expected = [
            regime([310..320, 400..900], [10..620, 0..1_400], 0..1_400),
            regime([2_500..2_501, 2_510..2_512], [2_200..2_801, 2_210..2_812], 2_200..2_812),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn ten_thousand_stretches_are_gone_through_once() {
        let grid = Grid::covering(0, 100_000 * BUCKET_NS);
        let found = slowdown(grid, (0..10_000).map(|index| (10 * index + 5, 10 * index + 6, 0))).by_regime(grid);
        assert_eq!(
            found.iter().map(|regime| (regime.slow.len(), regime.baseline.len())).collect::<Vec<_>>(),
            [(10_000, 90_000)]
        );
    }
}
