//! The clocks of a trace, and how they relate to the wall clock. Knows no evidence.

use std::collections::BTreeMap;

/// Clocks by their numbers in the schema.
pub(super) const REALTIME: u64 = 1;
pub(super) const BOOTTIME: u64 = 6;

/// Clocks from here on are of one sequence of packets, and mostly counted from the packet before.
const OF_SEQUENCE: u64 = 64;

/// Snapshots that are kept: Perfetto takes one each ten seconds.
const SNAPSHOTS_MAX: usize = 1 << 16;

/// What each clock was when the wall clock was read.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Wall clock less this one, by the time of this one.
    offsets_ns: BTreeMap<u64, BTreeMap<i64, i64>>,
    snapshots: usize,
}

impl Clocks {
    /// Takes a snapshot: numbers of clocks with their times.
    pub(super) fn take(&mut self, clocks: &[(u64, i64)]) {
        let Some((_, wall_ns)) = clocks.iter().find(|(clock, _)| *clock == REALTIME) else { return };
        if self.snapshots >= SNAPSHOTS_MAX {
            return;
        }
        self.snapshots += 1;
        for (clock, at_ns) in clocks.iter().filter(|(clock, _)| *clock < OF_SEQUENCE) {
            self.offsets_ns.entry(*clock).or_default().insert(*at_ns, wall_ns.saturating_sub(*at_ns));
        }
    }

    /// The wall clock at a time of another clock, by the snapshot before, else by the first one.
    pub(super) fn wall_ns(&self, clock: u64, at_ns: i64) -> Option<i64> {
        if clock == REALTIME {
            return Some(at_ns);
        }
        let offsets = self.offsets_ns.get(&clock)?;
        let offset = offsets.range(..=at_ns).next_back().or_else(|| offsets.iter().next());
        offset.map(|(_, offset_ns)| at_ns.saturating_add(*offset_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_before_counts() {
        let mut clocks = Clocks::default();
        clocks.take(&[(REALTIME, 1_000), (BOOTTIME, 100), (64, 5)]);
        clocks.take(&[(REALTIME, 2_010), (BOOTTIME, 1_100)]);
        clocks.take(&[(BOOTTIME, 1_200)]);
        for (clock, at, expected) in [
            (BOOTTIME, 50, Some(950)),
            (BOOTTIME, 600, Some(1_500)),
            (BOOTTIME, 1_150, Some(2_060)),
            (REALTIME, 7, Some(7)),
            (64, 5, None),
            (3, 5, None),
        ] {
            assert_eq!(clocks.wall_ns(clock, at), expected);
        }
    }
}
