//! Few of a port's requests late: too few to move a percentile of any second, more than ever.
//!
//! Late is what takes half as long again as all requests of the history but one in a thousand. Of ten and twenty seconds, a minute and five
//! minutes the share of late requests is a block of a `Climber`: it tells when several in a row have three times the share of
//! everything in the history of such blocks but the highest 0.2 %. So a job or a collection that makes a few requests late again
//! and again is usual. Beyond that chance must not explain them: so many late requests where the history has so few would come
//! with a probability of e^-15 for all blocks in a row (Chernoff's bound for Poisson's distribution). And a second counts for a
//! few late requests at most, so that a hiccup that hits all who are there makes no minute.

use crate::climber::{Climber, History, Once, Rung, Slow};
use crate::levels::{Latencies, Level};

/// Seconds of a point.
const POINT_S: i64 = 10;

/// Six levels are 2.8 to 3 times as many.
const MORE_LEVELS: u8 = 6;

/// Two blocks of twenty seconds are in every minute, however it lies; three of ten seconds tell after a minute of history. That three blocks after
/// five (or two after nine) are higher than all before them is chance in 1.8 % of cases (see [`crate::ladder`]).
const RUNGS: [Rung; 4] = [
    Rung { points: 1, in_a_row: 3, known_min: 5, higher_levels: MORE_LEVELS, sees_gaps: false },
    Rung { points: 2, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
    Rung { points: 6, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
    Rung { points: 30, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
];

/// Of so many requests of the history one is let out of account when it is asked how long they take.
const ODD: u32 = 1000;

/// Three levels are 1.5 to 1.75 times as long.
const LATER_LEVELS: u8 = 3;

/// Less than this part of all requests harms nobody.
const MIN_SHARE: f64 = 0.001;

/// Fewer late requests in a block are an odd one or two.
const MIN_LATE: f64 = 3.0;

/// More than this part of all requests move the percentile that [`crate::ladder`] looks at.
const MAX_SHARE: f64 = 0.05;

/// The logarithm of how rarely chance makes all blocks in a row: with 8,640 points a day, once in a year.
const EVIDENCE: f64 = 15.0;

/// A second counts for no more late requests than this, or this many times those that the history lets expect.
const MAX_OF_A_SECOND: f64 = 2.0;
const MAX_TIMES_EXPECTED: f64 = 6.0;

/// More of a port's requests are late than ever, though few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// So many late ones in the last block,
    pub late: u32,
    /// of so many.
    pub of: u32,
    /// They took at least so long, in ns.
    pub from_ns: u64,
    /// So many did in the history,
    pub before: u32,
    /// of so many.
    pub before_of: u32,
}

/// Requests of a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    all: u32,
    late: u32,
    /// Late ones that count.
    counted: f64,
    /// Late ones that the history lets expect.
    expected: f64,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.all = self.all.saturating_add(other.all);
        self.late = self.late.saturating_add(other.late);
        self.counted += other.counted;
        self.expected += other.expected;
    }

    fn level(&self) -> Level {
        share_level(self.counted / f64::from(self.all.max(1)))
    }

    /// Whether there were requests, and few of them late.
    fn are_few_late(&self) -> bool {
        self.all > 0 && f64::from(self.late) <= MAX_SHARE * f64::from(self.all)
    }

    /// The logarithm of how unlikely it is that chance makes as many: at least this.
    fn surprise(&self) -> f64 {
        match self.counted > self.expected {
            true => self.counted * (self.counted / self.expected).ln() - self.counted + self.expected,
            false => 0.0,
        }
    }

    fn is_chance(&self, rung: &Rung) -> bool {
        self.counted < MIN_LATE || self.surprise() < EVIDENCE / rung.in_a_row as f64
    }
}

/// What is known of the late requests of one port.
#[derive(Debug, Default)]
pub struct Rare {
    /// How long requests took while few were late.
    history: History,
    /// Requests of the point that is not full, and since when.
    answered: Latencies,
    point: Sum,
    since_s: Option<i64>,
    climbers: [Climber; RUNGS.len()],
    blocks: [(usize, Sum); RUNGS.len()],
    once: Once,
}

impl Rare {
    /// Takes the next second; whether more are late with it than ever. What is below `floor` is never late.
    pub fn see(&mut self, at_s: i64, answered: &Latencies, floor: Level) -> Option<Late> {
        let late_from = self.late_from(floor);
        self.add(answered, late_from);
        if at_s - *self.since_s.get_or_insert(at_s) < POINT_S - 1 {
            return None;
        }
        self.since_s = None;
        let point = std::mem::take(&mut self.point);
        let answered = std::mem::take(&mut self.answered);
        let late = if point.are_few_late() { self.judge(at_s, &point, late_from) } else { None };
        if !self.climbers.iter().any(Climber::is_high) {
            answered.levels().for_each(|(level, count)| self.history.learn(at_s, level, count));
        }
        late
    }

    /// Begins anew after a time in which nobody looked or nobody asked, or in which many were late.
    pub fn pause(&mut self, at_s: i64) {
        self.answered = Latencies::default();
        self.point = Sum::default();
        self.since_s = None;
        self.blocks = Default::default();
        self.climbers.iter_mut().for_each(|climber| climber.pause(at_s));
    }

    /// Whether more are late than ever.
    pub fn is_late(&self) -> bool {
        self.climbers.iter().any(Climber::is_slow)
    }

    /// From which level on requests are late; the highest while nothing is known.
    fn late_from(&self, floor: Level) -> Level {
        let known = self.history.all();
        let usual = known.highest_but(known.count() / ODD).unwrap_or(Level::HIGHEST);
        usual.above(LATER_LEVELS).max(floor)
    }

    fn add(&mut self, answered: &Latencies, late_from: Level) {
        self.answered.merge(answered);
        let (all, late) = (answered.count(), answered.at_least(late_from));
        let expected = f64::from(all) * share(self.history.all(), late_from);
        let most = MAX_OF_A_SECOND.max(MAX_TIMES_EXPECTED * expected);
        self.point.add(&Sum { all, late, counted: f64::from(late).min(most), expected });
    }

    fn judge(&mut self, at_s: i64, point: &Sum, late_from: Level) -> Option<Late> {
        let mut told: Vec<(Slow, Sum)> = Vec::new();
        for ((climber, rung), (points, block)) in self.climbers.iter_mut().zip(&RUNGS).zip(&mut self.blocks) {
            *points += 1;
            block.add(point);
            if *points < rung.points {
                continue;
            }
            *points = 0;
            let block = std::mem::take(block);
            let floor = if block.is_chance(rung) { Level::HIGHEST } else { share_level(MIN_SHARE) };
            told.extend(climber.judge(rung, at_s, block.level(), floor).map(|slow| (slow, block)));
        }
        let is_slow = self.is_late();
        let slow = self.once.choose(told.iter().map(|(slow, _)| *slow).collect(), is_slow)?;
        let (_, block) = told.into_iter().find(|(other, _)| *other == slow)?;
        let known = self.history.all();
        Some(Late {
            late: block.late,
            of: block.all,
            from_ns: late_from.from_ns(),
            before: known.at_least(late_from),
            before_of: known.count(),
        })
    }
}

/// A share of requests as a level, of so many in a billion.
fn share_level(share: f64) -> Level {
    Level::of_ns((share * 1e9) as u64)
}

/// The part of requests that are at least so long; what was never seen may have been one.
fn share(known: &Latencies, from: Level) -> f64 {
    f64::from(known.at_least(from).max(1)) / f64::from(known.count().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Level = Level(50);

    /// A second of so many requests of 4 ms, and late ones of 60 ms.
    fn second(count: u32, late: u32) -> Latencies {
        let mut answered = Latencies::default();
        answered.add(Level::of_ns(4_000_000), count - late);
        answered.add(Level::of_ns(60_000_000), late);
        answered
    }

    /// When more were late than ever, and how many.
    fn told(seconds: impl IntoIterator<Item = Latencies>) -> Vec<(i64, u32)> {
        let mut rare = Rare::default();
        let seen = seconds.into_iter().enumerate();
        seen.filter_map(|(at, second)| Some((at as i64, rare.see(at as i64, &second, FLOOR)?.late))).collect()
    }

    #[test]
    fn one_in_a_hundred_for_a_minute() {
        let ill = |from: usize| move |at: usize| second(100, u32::from((from..from + 60).contains(&at)));
        assert_eq!(told((0..1200).map(ill(600))), [(629, 10)], "known for ten minutes");
        assert_eq!(told((0..300).map(ill(60))), [(89, 10)], "known for a minute");
        assert_eq!(told((0..300).map(ill(30))), [], "too little known");
        let few = |at: usize| second(15, u32::from((3600..3900).contains(&at) && at.is_multiple_of(7)));
        let told_of_few = told((0..7200).map(few));
        assert!(matches!(told_of_few[..], [(3600..3900, _)]), "{told_of_few:?}");
    }

    #[test]
    fn what_is_usual_or_chance_or_a_hiccup_is_none() {
        let odd = |at: usize| second(100, u32::from(at.is_multiple_of(97)));
        assert_eq!(told((0..7200).map(odd)), [], "one in ten thousand, all the time");
        let pairs = |at: usize| second(100, if at % 300 < 2 { 2 } else { 0 });
        assert_eq!(told((0..7200).map(pairs)), [], "two seconds each five minutes");
        let job = |at: usize| second(100, u32::from(at % 600 < 60));
        assert!(told((0..36_000).map(job)).len() <= 3, "a job each ten minutes");
        let hiccup = |at: usize| second(100, if (600..603).contains(&at) { 80 } else { 0 });
        assert_eq!(told((0..1200).map(hiccup)), [], "three seconds in which most are late");
        let growing = |at: usize| second(if at < 1800 { 100 } else { 1000 }, u32::from(at.is_multiple_of(50)));
        assert_eq!(told((0..3600).map(growing)), [], "more requests");
    }

    #[test]
    fn what_lasts_is_told_once() {
        let ill = |at: usize| second(100, u32::from(at >= 1200));
        assert_eq!(told((0..12_000).map(ill)), [(1229, 10)]);
    }

    #[test]
    fn many_requests_are_no_harder_than_few() {
        let ill = |at: usize| {
            let is_ill = (600..660).contains(&at);
            second(10_000, if is_ill { 100 } else { 1 + at as u32 % 3 })
        };
        assert_eq!(told((0..1200).map(ill)), [(629, 1000)]);
    }
}
