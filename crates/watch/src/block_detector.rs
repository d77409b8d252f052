//! One time scale: blocks of one length, compared with the history of such blocks.
//!
//! It reports when several blocks in a row are some levels higher than the history: the last four hours and the same
//! time yesterday, without the highest 0.2 %. While it reports, it learns nothing, so that the same is noticed again.
//! What was reported three times within a day counts as normal for the service.

use std::collections::VecDeque;

use crate::levels::{Latencies, Level};

/// Of so many blocks of the history one is let out of account, as it may be anything.
const RARE: u32 = 500;

/// Of so many hours before this one everything counts.
const RECENT_HOURS: i64 = 4;

/// The same time yesterday, and an hour around it, so that what comes each day is known.
const YESTERDAY_HOURS: std::ops::RangeInclusive<i64> = 23..=25;

const HOUR_S: i64 = 3600;

const DAY_S: i64 = 24 * HOUR_S;

/// What was reported so often within a day is what the service does.
const KNOWN_AFTER: usize = 3;

/// What lasts for longer is how it is now: it is learned.
const NEW_NORMAL_S: i64 = 4 * HOUR_S;

/// What makes a block, and which blocks tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeScale {
    /// Points of a block.
    pub(crate) points: usize,
    /// So many blocks in a row tell.
    pub(crate) in_a_row: usize,
    /// With so many in the history at least.
    pub(crate) known_min: u32,
    /// A block is high by so many levels more than it usually is.
    pub(crate) higher_levels: u8,
    /// Whether a block between two usual heights is too high as well, where the history has next to none near it.
    pub(crate) sees_gaps: bool,
}

/// A port has turned slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// For how many points it was, until it was reported.
    pub points: usize,
    /// How long its requests take now.
    pub level: Level,
    /// How long they took at most before, but for rare ones.
    pub usual: Level,
}

/// Levels of blocks or of requests, the last day of them.
#[derive(Debug, Default)]
pub(crate) struct History {
    hours: VecDeque<(i64, Vec<(Level, u32)>)>,
    /// Those that count at this hour.
    all: Latencies,
}

impl History {
    pub(crate) fn learn(&mut self, at_s: i64, level: Level, count: u32) {
        let hour = at_s.div_euclid(HOUR_S);
        if self.hours.back().is_none_or(|(last, _)| *last != hour) {
            self.turn(hour);
        }
        if let Some((_, levels)) = self.hours.back_mut() {
            match levels.iter_mut().find(|(other, _)| *other == level) {
                Some((_, known)) => *known = known.saturating_add(count),
                None => levels.push((level, count)),
            }
        }
        self.all.add(level, count);
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

    /// Hours from the first to the last.
    pub(crate) fn spans_h(&self) -> i64 {
        let ends = self.hours.front().zip(self.hours.back());
        ends.map_or(0, |((first, _), (last, _))| last - first)
    }

    /// All that counts at this hour.
    pub(crate) fn all(&self) -> &Latencies {
        &self.all
    }

    /// The highest usual block below `level`, where none but rare ones are within `levels` of it. A service that is quick but for
    /// jobs has two usual heights; what is between them is neither.
    pub(crate) fn below_gap(&self, level: Level, levels: u8) -> Option<Level> {
        let rare = self.all.count() / RARE;
        let near = Level(level.0.saturating_sub(levels - 1))..=level.above(levels - 1);
        let count = |range: &dyn Fn(Level) -> bool| -> u32 {
            self.all.levels().filter(|(other, _)| range(*other)).map(|(_, count)| count).sum()
        };
        if count(&|other| near.contains(&other)) > rare || count(&|other| other < *near.start()) <= rare {
            return None;
        }
        self.all.levels().rev().map(|(other, _)| other).find(|other| other < near.start())
    }

    /// How high blocks are at most, but for rare ones; `None` while too little is known.
    pub(crate) fn usual(&self, known_min: u32) -> Option<Level> {
        let known = self.all.count();
        (known >= known_min).then(|| self.all.highest_but(known / RARE)).flatten()
    }
}

/// One scale at work.
#[derive(Debug, Default)]
pub(crate) struct BlockDetector {
    history: History,
    /// Points of the block that is not full.
    points: Vec<Level>,
    /// Blocks in a row that were too high, not learned yet.
    high: Vec<Level>,
    /// Since when it is slow, if it is.
    slow_since_s: Option<i64>,
    /// When that was reported within the last day, and how high it was.
    reported: VecDeque<(i64, Level)>,
}

impl BlockDetector {
    /// Takes the next point; blocks are as high as the median of their points.
    pub(crate) fn see(&mut self, scale: &TimeScale, at_s: i64, point: Level, floor: Level) -> Option<Slow> {
        self.points.push(point);
        if self.points.len() < scale.points {
            return None;
        }
        self.points.sort_unstable();
        let level = self.points[self.points.len() / 2];
        self.points.clear();
        self.judge(scale, at_s, level, floor)
    }

    /// Takes the next block; whether it has turned slow with it. What is below `floor` is never slow.
    pub(crate) fn judge(&mut self, scale: &TimeScale, at_s: i64, level: Level, floor: Level) -> Option<Slow> {
        let Some(usual) = self.lower(scale, at_s, level).filter(|_| level >= floor) else {
            self.end(at_s);
            self.history.learn(at_s, level, 1);
            return None;
        };
        self.high.push(level);
        match self.slow_since_s {
            Some(since_s) if at_s - since_s > NEW_NORMAL_S => self.learn_high(at_s),
            Some(_) => {}
            None if self.high.len() >= scale.in_a_row => {
                self.slow_since_s = Some(at_s);
                self.reported.push_back((at_s, level));
                return Some(Slow { points: scale.points * scale.in_a_row, level, usual });
            }
            None => {}
        }
        None
    }

    /// What is usual and lower than this block by as much as tells; `None` where the block is usual itself.
    fn lower(&mut self, scale: &TimeScale, at_s: i64, level: Level) -> Option<Level> {
        let known = self.known(at_s);
        let usual = self.history.usual(scale.known_min)?;
        let highest = usual.max(known);
        if level >= highest.above(scale.higher_levels) {
            return Some(highest);
        }
        let is_new = scale.sees_gaps && (known == Level::default() || level > known);
        self.history.below_gap(level, scale.higher_levels).filter(|_| is_new)
    }

    /// Whether it is slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow_since_s.is_some()
    }

    /// By how many levels a block is above what is typical, if it is higher than nine in ten; nothing where too little is known.
    pub(crate) fn rise(&self, scale: &TimeScale, level: Level) -> Option<u8> {
        let known = Some(self.history.all()).filter(|known| known.count() >= scale.known_min)?;
        let (typical, high) = known.quantile(0.5).zip(known.quantile(0.9))?;
        Some(if level > high { level.0 - typical.0 } else { 0 })
    }

    /// Whether the last block was too high, and is not learned.
    pub(crate) fn is_high(&self) -> bool {
        !self.high.is_empty()
    }

    /// How high blocks are at most, but for rare ones, once that is known.
    pub(crate) fn usual(&self, scale: &TimeScale) -> Option<Level> {
        self.history.usual(scale.known_min)
    }

    /// What comes now does not follow what was before.
    pub(crate) fn pause(&mut self, at_s: i64) {
        self.points.clear();
        self.end(at_s);
    }

    /// What was reported so often within a day that it is known: the highest level of it.
    fn known(&mut self, at_s: i64) -> Level {
        while self.reported.front().is_some_and(|(reported_s, _)| at_s - reported_s > DAY_S) {
            self.reported.pop_front();
        }
        let levels = self.reported.iter().map(|(_, level)| *level).max().unwrap_or_default();
        if self.reported.len() >= KNOWN_AFTER { levels } else { Level::default() }
    }

    /// What was too high is over. It is learned unless it was reported.
    fn end(&mut self, at_s: i64) {
        if self.slow_since_s.take().is_none() {
            self.learn_high(at_s);
        }
        self.high.clear();
    }

    fn learn_high(&mut self, at_s: i64) {
        self.high.drain(..).for_each(|level| self.history.learn(at_s, level, 1));
    }
}

/// Tells the same only once: a longer scale comes to it later, maybe when it is over.
#[derive(Debug, Default)]
pub(crate) struct Once {
    /// Points until now, and when any scale last was slow.
    points: usize,
    slow_at: Option<usize>,
}

impl Once {
    /// Takes what the scales report for a point, the shortest first, and whether any of them is slow now.
    pub(crate) fn choose(&mut self, reported: Vec<Slow>, is_slow: bool) -> Option<Slow> {
        self.points += 1;
        let since = self.slow_at.map(|slow_at| self.points - slow_at);
        if is_slow {
            self.slow_at = Some(self.points);
        }
        reported.into_iter().find(|slow| since.is_none_or(|since| since > slow.points))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_two_usual_heights_is_high() {
        let mut history = History::default();
        (0..100).for_each(|_| history.learn(0, Level(50), 1));
        (0..10).for_each(|_| history.learn(0, Level(62), 1));
        for (level, expected) in
            [(50, None), (52, None), (53, Some(50)), (57, Some(50)), (60, None), (62, None), (65, Some(62))]
        {
            assert_eq!(history.below_gap(Level(level), 3), expected.map(Level), "{level}");
        }
        assert_eq!(history.below_gap(Level(40), 3), None, "lower than all");
    }

    #[test]
    fn a_day_later_it_is_forgotten() {
        let mut history = History::default();
        history.learn(0, Level(90), 1);
        (1..100).for_each(|second| history.learn(second, Level(50), 1));
        assert_eq!(history.usual(50), Some(Level(90)));
        for (hours, count) in [(4, 101), (10, 1), (24, 101), (40, 1)] {
            history.learn(hours * HOUR_S, Level(50), 1);
            assert_eq!(history.all.count(), count, "{hours}");
        }
        assert_eq!(history.usual(1), Some(Level(50)));
    }
}
