//! Who had something in turn, and how much others waited meanwhile.

use std::collections::BTreeMap;

use crate::intervals::Intervals;
use crate::partition::Segment;

/// From one hand-over to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turn {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// Who had it, if that is known.
    pub(super) owner: Option<i64>,
    /// The time of all who waited meanwhile, in ns.
    pub(super) waiting_ns: f64,
    /// Row of the wait that ended it.
    pub(super) row: u32,
}

/// All turns of one thing, in order, with the waiting as a sum over time.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Beginning, end, owner, and the row of the wait that ended it; disjoint, ascending.
    turns: Vec<(i64, i64, Option<i64>, u32)>,
    /// Time, threads that wait from then on, and the waiting until then in ns; ascending.
    sums: Vec<(i64, f64, f64)>,
}

impl Turns {
    /// From the waits for it. `owner` gives who let the wait in a row end.
    pub(super) fn new(waits: &[Segment], owner: impl Fn(u32) -> Option<i64>) -> Turns {
        // A wait that was interrupted (by a page fault, a stop) has several segments, and ends with the last one.
        let mut whole: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        for segment in waits {
            let Some(row) = segment.row else { continue };
            let extent = whole.entry(row).or_insert((segment.from_ns, segment.to_ns));
            *extent = (extent.0.min(segment.from_ns), extent.1.max(segment.to_ns));
        }
        let mut ends: Vec<(i64, i64, u32)> = whole.into_iter().map(|(row, (from, to))| (to, from, row)).collect();
        ends.sort_unstable();
        let turns = beginnings(&ends).into_iter().zip(&ends).map(|(from, (to, _, row))| (from, *to, owner(*row), *row));
        Turns { turns: turns.filter(|(from, to, ..)| from < to).collect(), sums: sums(waits) }
    }

    /// Whether the owner of any of them is known.
    pub(super) fn have_owners(&self) -> bool {
        self.turns.iter().any(|(_, _, owner, _)| owner.is_some())
    }

    /// The turns within some time, cut to it.
    pub(super) fn within(&self, time: &Intervals) -> Vec<Turn> {
        let mut within = Vec::new();
        for (from, to) in time.iter() {
            let first = self.turns.partition_point(|turn| turn.1 <= from);
            for (begins, ends, owner, row) in self.turns[first..].iter().take_while(|turn| turn.0 < to) {
                let (from_ns, to_ns) = ((*begins).max(from), (*ends).min(to));
                let waiting_ns = self.until(to_ns) - self.until(from_ns);
                if waiting_ns > 0.0 {
                    within.push(Turn { from_ns, to_ns, owner: *owner, waiting_ns, row: *row });
                }
            }
        }
        within
    }

    /// The waiting until a time, in ns.
    fn until(&self, at_ns: i64) -> f64 {
        let next = self.sums.partition_point(|(time, ..)| *time <= at_ns);
        let Some((time, threads, sum)) = next.checked_sub(1).map(|last| self.sums[last]) else { return 0.0 };
        sum + threads * at_ns.saturating_sub(time) as f64
    }
}

/// For each wait (end, beginning, row; ascending): from when on the thread that handed over at its end is known to have
/// been the owner. That is since the previous hand-over, but not before the first thread waited.
fn beginnings(ends: &[(i64, i64, u32)]) -> Vec<i64> {
    let mut first_waits: Vec<i64> = ends.iter().map(|(_, from, _)| *from).collect();
    for index in (1..first_waits.len()).rev() {
        first_waits[index - 1] = first_waits[index - 1].min(first_waits[index]);
    }
    let before = std::iter::once(i64::MIN).chain(ends.iter().map(|(to, ..)| *to));
    first_waits.into_iter().zip(before).map(|(waiting, before)| waiting.max(before)).collect()
}

fn sums(waits: &[Segment]) -> Vec<(i64, f64, f64)> {
    let mut steps: BTreeMap<i64, f64> = BTreeMap::new();
    for segment in waits {
        *steps.entry(segment.from_ns).or_default() += 1.0;
        *steps.entry(segment.to_ns).or_default() -= 1.0;
    }
    let (mut threads, mut sum, mut at) = (0.0, 0.0, 0_i64);
    let sums = steps.into_iter().map(|(time, step)| {
        sum += threads * time.saturating_sub(at) as f64;
        threads += step;
        at = time;
        (time, threads, sum)
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::{ThreadState, Wait};

    fn wait(from_ns: i64, to_ns: i64, row: u32) -> Segment {
        Segment { from_ns, to_ns, state: ThreadState::Blocked(Wait::Lock), row: Some(row) }
    }

    #[test]
    fn waiting_is_divided_by_who_had_it() {
        // 10 waits from 0 to 4, 11 from 1 to 6: at 4 one hands over to the first, who hands over to the second at 6.
        let turns = Turns::new(&[wait(0, 4, 10), wait(1, 6, 11)], |row| Some(i64::from(row) + 100));
        let all = turns.within(&Intervals::union(vec![(0, 100)]));
        let turn = |from_ns, to_ns, owner, waiting_ns| Turn {
            from_ns,
            to_ns,
            owner: Some(i64::from(owner) + 100),
            waiting_ns,
            row: owner,
        };
        assert_eq!(all, [turn(0, 4, 10, 7.0), turn(4, 6, 11, 2.0)]);
        let part = turns.within(&Intervals::union(vec![(3, 5)]));
        assert_eq!(part, [turn(3, 4, 10, 2.0), turn(4, 5, 11, 1.0)]);
    }
}
