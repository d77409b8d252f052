//! Whether a port has become slower than it ever is, judged by its own history only.
//!
//! What is judged is a *point*: the 95th percentile, or the median, of at least twenty requests. Points are compared on
//! several time scales: one by one, and as medians of 10, 60 and 300, so that each length of slowness has a scale that notices
//! it soon. Each scale has its own history: the last four hours and the same time yesterday. It reports when several blocks in
//! a row are half as slow again as everything in that history except the highest 0.2 % (or lie between two usual heights,
//! where there are next to no blocks). So what the service does again and again (bursts, collections, jobs) is usual on the
//! scale on which it shows, and slow changes (the rhythm of a day) are learned on the way. While a scale reports, it learns
//! nothing, so that the same is noticed again. What was reported three times within a day counts as normal for the service.
//!
//! How often that is wrong can be said without knowing how latencies are distributed: where blocks come in no particular order,
//! that the next k are all higher than the N before has a probability of k! N! / (N + k)! (records: Chandler 1952, Rényi
//! 1962), and to exceed the highest 0.2 % twice in a row one of 1 in 250,000. Blocks that follow each other are alike, which
//! is why they have to be higher by a half as well. What comes out is measured by `bench/watch`.

pub use crate::block_detector::Slow;
use crate::block_detector::{BlockDetector, Once, TimeScale};
use crate::levels::Level;

/// Three levels are 1.5 to 1.75 times as long.
const SLOWER_LEVELS: u8 = 3;

/// Three points see ten seconds, ten minutes see what is mild and long beside jobs of some minutes. The least history keeps the sum over all times
/// of being wrong by a record (k!/(N+1)...(N+k) from there on) below one in five for each scale, without the half.
pub(crate) const OF_TAILS: &[TimeScale] = &[
    TimeScale { points: 1, in_a_row: 3, known_min: 50, higher_levels: SLOWER_LEVELS, sees_gaps: false },
    TimeScale { points: 10, in_a_row: 2, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: true },
    TimeScale { points: 60, in_a_row: 2, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: true },
    TimeScale { points: 300, in_a_row: 2, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: true },
];

/// Medians are known to half a level, and those of a minute hardly move by chance (by some percent, of a thousand requests), so a
/// third more is much for a long block, and for several shorter ones in a row: four after nine that are all higher have a probability of
/// 4! 9! / 13!, one in 715.
pub(crate) const OF_MEDIANS: &[TimeScale] = &[
    TimeScale { points: 1, in_a_row: 3, known_min: 50, higher_levels: 2 * SLOWER_LEVELS, sees_gaps: false },
    TimeScale { points: 10, in_a_row: 2, known_min: 9, higher_levels: 2 * SLOWER_LEVELS, sees_gaps: true },
    TimeScale { points: 10, in_a_row: 4, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: false },
    TimeScale { points: 60, in_a_row: 2, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: true },
    TimeScale { points: 300, in_a_row: 2, known_min: 9, higher_levels: SLOWER_LEVELS, sees_gaps: true },
];

/// Blocks of so many points, which are less than two minutes, end with a pause.
const PAUSED_POINTS: usize = 10;

/// The history of one port at one kind of load.
#[derive(Debug)]
pub struct ChangeDetector {
    scales: &'static [TimeScale],
    /// One for each scale.
    detectors: Vec<BlockDetector>,
    once: Once,
}

impl ChangeDetector {
    /// Without a history.
    pub(crate) fn new(scales: &'static [TimeScale]) -> ChangeDetector {
        let detectors = scales.iter().map(|_| BlockDetector::default()).collect();
        ChangeDetector { scales, detectors, once: Once::default() }
    }

    /// Takes the next point; whether the port has turned slow with it. What is below `floor` is never slow.
    pub fn see(&mut self, at_s: i64, point: Level, floor: Level) -> Option<Slow> {
        let detectors = self.detectors.iter_mut().zip(self.scales);
        let reported: Vec<Slow> =
            detectors.filter_map(|(detector, scale)| detector.see(scale, at_s, point, floor)).collect();
        let is_slow = self.is_slow();
        self.once.choose(reported, is_slow)
    }

    /// Whether any scale finds it slow.
    pub fn is_slow(&self) -> bool {
        self.detectors.iter().any(BlockDetector::is_slow)
    }

    /// How long points are at most, but for rare ones, once that is known.
    pub fn usual(&self) -> Option<Level> {
        self.detectors[0].usual(&self.scales[0])
    }

    /// By how many levels a point is above what is typical, if it is among the highest tenth; nothing where too little is known.
    pub(crate) fn rise(&self, point: Level) -> Option<u8> {
        self.detectors[0].rise(&self.scales[0], point)
    }

    /// After a time without points what was before it is not in a row with what comes. Long blocks go on: a service that is asked
    /// for some minutes of each quarter of an hour would never have one.
    pub fn pause(&mut self, at_s: i64) {
        let short = self.detectors.iter_mut().zip(self.scales).filter(|(_, scale)| scale.points <= PAUSED_POINTS);
        short.for_each(|(detector, _)| detector.pause(at_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a detector tells, given points one second apart.
    fn reported(points: impl IntoIterator<Item = u8>) -> Vec<(i64, usize)> {
        let mut detector = ChangeDetector::new(OF_TAILS);
        let seen = points.into_iter().enumerate();
        let slow = seen.filter_map(|(at, point)| {
            let slow = detector.see(at as i64, Level(point), Level(0))?;
            Some((at as i64, slow.points))
        });
        slow.collect()
    }

    fn wobble(at: usize) -> u8 {
        50 + [0, 1, 0, 2, 1, 0, 3, 0, 1, 2, 0][at % 11]
    }

    #[test]
    fn the_shortest_rung_that_sees_it_tells_once() {
        let healthy = |from: usize, to: usize| (from..to).map(wobble);
        let slow = |count: usize, by: u8| std::iter::repeat_n(53 + by, count);
        for (name, points, expected) in [
            ("healthy", healthy(0, 7200).collect::<Vec<u8>>(), vec![]),
            ("ten slow seconds", healthy(0, 300).chain(slow(10, 8)).chain(healthy(0, 300)).collect(), vec![(302, 3)]),
            ("two slow seconds", healthy(0, 300).chain(slow(2, 30)).chain(healthy(0, 300)).collect(), vec![]),
            ("too little known", healthy(0, 40).chain(slow(300, 8)).collect(), vec![]),
            ("a little slower", healthy(0, 900).chain(slow(900, 0)).collect(), vec![]),
            (
                "every third second is quick",
                healthy(0, 900).chain((0..900).map(|at| if at % 3 == 0 { 50 } else { 60 })).collect(),
                vec![(919, 20)],
            ),
        ] {
            assert_eq!(reported(points), expected, "{name}");
        }
    }

    #[test]
    fn what_comes_again_and_again_is_usual() {
        // Bursts of 20 s, ten times as slow, each two minutes.
        let bursts = |at: usize| if at % 120 < 20 { wobble(at) + 13 } else { wobble(at) };
        let first = reported((0..20_000).map(|at| if at < 600 { wobble(at) } else { bursts(at) }));
        assert!(first.iter().all(|(at, _)| *at < 600 + 4 * 120) && first.len() <= 4, "{first:?}");
        assert_eq!(reported((0..20_000).map(bursts)), []);
    }

    #[test]
    fn a_long_slowness_is_reported_once_and_the_same_again_is_reported_again() {
        let points = |slow: fn(usize) -> bool| (0..30_000).map(move |at| wobble(at) + if slow(at) { 10 } else { 0 });
        assert_eq!(reported(points(|at| at >= 600)), [(602, 3)]);
        let twice = |at: usize| (600..4200).contains(&at) || (9_000..9_100).contains(&at);
        assert_eq!(reported(points(twice)), [(602, 3), (9_002, 3)]);
    }
}
