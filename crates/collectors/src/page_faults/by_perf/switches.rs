//! How often threads get a CPU. Each switch costs a thread with events some 0.8 µs more (`bench/per_event`). If all
//! threads together would cost more than a hundredth of a core, those with the most switches are not observed.

use std::collections::HashMap;

/// In a second, of all threads with events.
const AFFORDED: f64 = 12_500.0;

/// The counts as read last.
#[derive(Debug, Default)]
pub(super) struct Switches {
    read_ns: i64,
    counts: HashMap<u32, u64>,
}

impl Switches {
    /// Takes the counts as they are now; tells which threads to leave alone, those that get a CPU most often.
    pub(super) fn too_many(&mut self, now_ns: i64, counts: HashMap<u32, u64>) -> Vec<u32> {
        let seconds = (now_ns - self.read_ns).max(1) as f64 / 1e9;
        let rise = |(tid, count): (&u32, &u64)| Some((*tid, count.saturating_sub(*self.counts.get(tid)?)));
        let mut grown: Vec<(u32, u64)> = counts.iter().filter_map(rise).collect();
        (self.read_ns, self.counts) = (now_ns, counts);
        grown.sort_by_key(|(tid, rise)| (std::cmp::Reverse(*rise), *tid));
        let mut all: f64 = grown.iter().map(|(_, rise)| *rise as f64).sum();
        let mut left = Vec::new();
        for (tid, rise) in grown {
            if all <= AFFORDED * seconds {
                break;
            }
            all -= rise as f64;
            left.push(tid);
        }
        left
    }
}

/// How often a thread has got a CPU: the third number of its `schedstat`; `None` where the kernel does not count it.
pub(super) fn parse(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn the_busiest_are_left_alone_until_the_rest_can_be_afforded() {
        let at = |counts: &[u64]| (0..).zip(counts.iter().copied()).collect::<HashMap<u32, u64>>();
        for (before, now, seconds, expected) in [
            (&[0, 0, 0][..], &[5_000, 5_000, 2_500][..], 1, &[][..]),
            (&[0, 0, 0], &[5_000, 5_001, 2_500], 1, &[1]),
            (&[0, 0, 0], &[50_000, 5_001, 60_000], 1, &[2, 0]),
            (&[0, 0, 0], &[50_000, 5_001, 60_000], 10, &[]),
            // One that was not there before, and one whose number another thread has now.
            (&[0], &[10, 4_000_000_000], 1, &[]),
            (&[4_000_000_000], &[10], 1, &[]),
            (&[], &[], 1, &[]),
        ] {
            let mut switches = Switches::default();
            switches.too_many(5 * S, at(before));
            assert_eq!(switches.too_many((5 + seconds) * S, at(now)), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn schedstats() {
        for (text, expected) in
            [("123 45 678\n", Some(678)), ("0 0 0\n", Some(0)), ("1 2\n", None), ("", None), ("a b c", None)]
        {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
