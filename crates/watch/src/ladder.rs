//! Whether a port has turned slower than it ever is, by its own history and nothing else.
//!
//! What is judged is a *point*: the 95th percentile of at least twenty requests. Points are looked at on rungs of a ladder: one
//! by one, and as medians of 10, 60 and 300, so that each length of slowness has a rung that sees it soon. A rung compares with
//! its own history, that of the last four hours and of the same time yesterday: it tells when several blocks in a row are half
//! as slow again as everything in that history but the highest 0.2 %. So whatever the service does again and again (bursts,
//! collections, jobs) is usual on the rung on which it shows, and what changes over hours (the rhythm of a day) is learned on
//! the way. While it is slow nothing is learned, so that the same is seen again; what was told three times within a day is
//! taken for what the service does.
//!
//! How often that is wrong can be said without knowing how latencies are distributed: where blocks come in no particular order,
//! that the next k are all higher than the N before has a probability of k! N! / (N + k)! (records: Chandler 1952, Rényi
//! 1962), and to exceed the highest 0.2 % twice in a row one of 1 in 250,000. Blocks that follow each other are alike, which
//! is why they have to be higher by a half as well. What comes out is measured by `bench/watch`.

use std::collections::VecDeque;

use crate::levels::{Latencies, Level};

/// How many points make a block, how many blocks in a row tell, and with how many in the history.
struct Rung {
    points: usize,
    in_a_row: usize,
    known_min: u32,
}

/// Three points see ten seconds, ten minutes see what is mild and long beside jobs of some minutes. The least history keeps the sum over all times
/// of being wrong by a record (k!/(N+1)...(N+k) from there on) below one in five for each rung, without the half.
const RUNGS: [Rung; 4] = [
    Rung { points: 1, in_a_row: 3, known_min: 50 },
    Rung { points: 10, in_a_row: 2, known_min: 9 },
    Rung { points: 60, in_a_row: 2, known_min: 9 },
    Rung { points: 300, in_a_row: 2, known_min: 9 },
];

/// Three levels are 1.5 to 1.75 times as long.
const SLOWER_LEVELS: u8 = 3;

/// Of so many blocks of the history one is let out of account, as it may be anything.
const RARE: u32 = 500;

/// Of so many hours before this one everything counts.
const RECENT_HOURS: i64 = 4;

/// The same time yesterday, and an hour around it, so that what comes each day is known.
const YESTERDAY_HOURS: std::ops::RangeInclusive<i64> = 23..=25;

const HOUR_S: i64 = 3600;

const DAY_S: i64 = 24 * HOUR_S;

/// What was told so often within a day is what the service does.
const KNOWN_AFTER: usize = 3;

/// What lasts for longer is how it is now: it is learned.
const NEW_NORMAL_S: i64 = 4 * HOUR_S;

/// A port has turned slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// For how many points it was, until it was told.
    pub points: usize,
    /// How long its requests take now.
    pub level: Level,
    /// How long they took at most before, but for rare ones.
    pub usual: Level,
}

/// Levels of blocks, the last day of them.
#[derive(Debug, Default)]
struct History {
    hours: VecDeque<(i64, Vec<(Level, u32)>)>,
    /// Those that count at this hour.
    all: Latencies,
}

impl History {
    fn learn(&mut self, at_s: i64, level: Level) {
        let hour = at_s.div_euclid(HOUR_S);
        if self.hours.back().is_none_or(|(last, _)| *last != hour) {
            self.turn(hour);
        }
        if let Some((_, levels)) = self.hours.back_mut() {
            match levels.iter_mut().find(|(other, _)| *other == level) {
                Some((_, count)) => *count += 1,
                None => levels.push((level, 1)),
            }
        }
        self.all.add(level, 1);
    }

    /// Another hour begins.
    fn turn(&mut self, hour: i64) {
        self.hours.retain(|(other, _)| other + YESTERDAY_HOURS.end() >= hour);
        self.hours.push_back((hour, Vec::new()));
        self.all = Latencies::default();
        let counts = |other: i64| hour - other <= RECENT_HOURS || YESTERDAY_HOURS.contains(&(hour - other));
        for (_, levels) in self.hours.iter().filter(|(other, _)| counts(*other)) {
            levels.iter().for_each(|(level, count)| self.all.add(*level, *count));
        }
    }

    /// How high blocks are at most, but for rare ones; `None` while too little is known.
    fn usual(&self, known_min: u32) -> Option<Level> {
        let known = self.all.count();
        (known >= known_min).then(|| self.all.highest_but(known / RARE)).flatten()
    }
}

/// One rung at work.
#[derive(Debug, Default)]
struct Climber {
    history: History,
    /// Points of the block that is not full.
    points: Vec<Level>,
    /// Blocks in a row that were too high, not learned yet.
    high: Vec<Level>,
    /// Since when it is slow, if it is.
    slow_since_s: Option<i64>,
    /// When that was told within the last day, and how high it was.
    told: VecDeque<(i64, Level)>,
}

impl Climber {
    fn see(&mut self, rung: &Rung, at_s: i64, point: Level, floor: Level) -> Option<Slow> {
        self.points.push(point);
        if self.points.len() < rung.points {
            return None;
        }
        self.points.sort_unstable();
        let level = self.points[self.points.len() / 2];
        self.points.clear();
        self.judge(rung, at_s, level, floor)
    }

    fn judge(&mut self, rung: &Rung, at_s: i64, level: Level, floor: Level) -> Option<Slow> {
        let usual = self.history.usual(rung.known_min).map(|usual| usual.max(self.known(at_s)));
        let is_high = |usual: &Level| level >= usual.above(SLOWER_LEVELS).max(floor);
        let Some(usual) = usual.filter(is_high) else {
            self.end(at_s);
            self.history.learn(at_s, level);
            return None;
        };
        self.high.push(level);
        match self.slow_since_s {
            Some(since_s) if at_s - since_s > NEW_NORMAL_S => self.learn_high(at_s),
            Some(_) => {}
            None if self.high.len() >= rung.in_a_row => {
                self.slow_since_s = Some(at_s);
                self.told.push_back((at_s, level));
                return Some(Slow { points: rung.points * rung.in_a_row, level, usual });
            }
            None => {}
        }
        None
    }

    /// What was told so often within a day that it is known: the highest level of it.
    fn known(&mut self, at_s: i64) -> Level {
        while self.told.front().is_some_and(|(told_s, _)| at_s - told_s > DAY_S) {
            self.told.pop_front();
        }
        let levels = self.told.iter().map(|(_, level)| *level).max().unwrap_or_default();
        if self.told.len() >= KNOWN_AFTER { levels } else { Level::default() }
    }

    /// What was too high is over. It is learned unless it was told.
    fn end(&mut self, at_s: i64) {
        if self.slow_since_s.take().is_none() {
            self.learn_high(at_s);
        }
        self.high.clear();
    }

    fn learn_high(&mut self, at_s: i64) {
        self.high.drain(..).for_each(|level| self.history.learn(at_s, level));
    }
}

/// The history of one port at one kind of load.
#[derive(Debug, Default)]
pub struct Ladder {
    climbers: [Climber; RUNGS.len()],
    /// Points until now, and when any rung last found it slow.
    points: usize,
    slow_at: Option<usize>,
}

impl Ladder {
    /// Takes the next point; whether the port has turned slow with it. What is below `floor` is never slow.
    pub fn see(&mut self, at_s: i64, point: Level, floor: Level) -> Option<Slow> {
        self.points += 1;
        let since = self.slow_at.map(|slow_at| self.points - slow_at);
        let climbers = self.climbers.iter_mut().zip(&RUNGS);
        let told: Vec<Slow> = climbers.filter_map(|(climber, rung)| climber.see(rung, at_s, point, floor)).collect();
        if self.is_slow() {
            self.slow_at = Some(self.points);
        }
        // A longer rung comes to the same slowness later, maybe when it is over.
        told.into_iter().find(|slow| since.is_none_or(|since| since > slow.points))
    }

    /// Whether any rung finds it slow.
    pub fn is_slow(&self) -> bool {
        self.climbers.iter().any(|climber| climber.slow_since_s.is_some())
    }

    /// How long points are at most, but for rare ones, once that is known.
    pub fn usual(&self) -> Option<Level> {
        self.climbers[0].history.usual(RUNGS[0].known_min)
    }

    /// Begins blocks anew after a time without points: what is before and after it is not in a row.
    pub fn pause(&mut self, at_s: i64) {
        for climber in &mut self.climbers {
            climber.points.clear();
            climber.end(at_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a ladder tells, given points one second apart.
    fn told(points: impl IntoIterator<Item = u8>) -> Vec<(i64, usize)> {
        let mut ladder = Ladder::default();
        let seen = points.into_iter().enumerate();
        let slow = seen.filter_map(|(at, point)| {
            let slow = ladder.see(at as i64, Level(point), Level(0))?;
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
            assert_eq!(told(points), expected, "{name}");
        }
    }

    #[test]
    fn what_comes_again_and_again_is_usual() {
        // Bursts of 20 s, ten times as slow, each two minutes.
        let bursts = |at: usize| if at % 120 < 20 { wobble(at) + 13 } else { wobble(at) };
        let first = told((0..20_000).map(|at| if at < 600 { wobble(at) } else { bursts(at) }));
        assert!(first.iter().all(|(at, _)| *at < 600 + 4 * 120) && first.len() <= 4, "{first:?}");
        assert_eq!(told((0..20_000).map(bursts)), []);
    }

    #[test]
    fn a_long_slowness_is_told_once_and_the_same_again_is_told_again() {
        let points = |slow: fn(usize) -> bool| (0..30_000).map(move |at| wobble(at) + if slow(at) { 10 } else { 0 });
        assert_eq!(told(points(|at| at >= 600)), [(602, 3)]);
        let twice = |at: usize| (600..4200).contains(&at) || (9_000..9_100).contains(&at);
        assert_eq!(told(points(twice)), [(602, 3), (9_002, 3)]);
    }

    #[test]
    fn a_day_later_it_is_forgotten() {
        let mut history = History::default();
        history.learn(0, Level(90));
        (1..100).for_each(|second| history.learn(second, Level(50)));
        assert_eq!(history.usual(50), Some(Level(90)));
        for (hours, count) in [(4, 101), (10, 1), (24, 101), (40, 1)] {
            history.learn(hours * HOUR_S, Level(50));
            assert_eq!(history.all.count(), count, "{hours}");
        }
        assert_eq!(history.usual(1), Some(Level(50)));
    }
}
