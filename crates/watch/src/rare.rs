//! A few late requests of a port: too few to move a percentile of any second, but more than ever before.
//!
//! How late a request is, is measured against the median of its ten seconds. So a service whose requests all take four times as long in
//! bursts or at noon has the same tail at all times, and busy times do not hide late requests of quiet times. A request is late if it is
//! half as far again above the median as all requests of the history except one in a thousand. Requests are also counted with a limit of
//! one in a hundred: where pauses make a few requests of each minute very late, this limit notices requests that are late by less than a
//! pause but later than all others. The share of late requests in 10 and 20 seconds, one and five minutes is a block of a
//! `BlockDetector`. It reports when several blocks in a row are half as high again as the history of such blocks without its highest
//! 0.2 %. So a job or a collection that makes a few requests late again and again is usual. Chance must not explain the late requests either:
//! at the rate of the history, so many would have a probability of e^-15 for all blocks in a row (Chernoff's bound for the Poisson
//! distribution). Each second counts only a few late requests, so that one hiccup of all current requests does not decide a minute.

use crate::block_detector::{BlockDetector, History, Once, Slow, TimeScale};
use crate::levels::{LEVELS, Latencies, Level};

/// Seconds of a point.
const POINT_S: i64 = 10;

/// Three levels are 1.5 to 1.75 times as many, as for latencies; that it is no chance is asked for itself.
const MORE_LEVELS: u8 = 3;

/// Two blocks of twenty seconds are in every minute, however it lies; three of ten seconds tell after a minute of history. That three blocks after
/// five (or two after nine) are higher than all before them is chance in 1.8 % of cases (see [`crate::change_detector`]).
const SCALES: [TimeScale; 4] = [
    TimeScale { points: 1, in_a_row: 3, known_min: 5, higher_levels: MORE_LEVELS, sees_gaps: false },
    TimeScale { points: 2, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
    TimeScale { points: 6, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
    TimeScale { points: 30, in_a_row: 2, known_min: 9, higher_levels: MORE_LEVELS, sees_gaps: false },
];

/// Of so many requests of the history one is let out of account when it is asked how long they take, at each depth. What makes more than one
/// in twenty late moves the 95th percentile, so less than one in a hundred is no depth of its own.
const ODD: [u32; 2] = [1000, 100];

/// So many hours of history each depth needs. Jobs make some in a hundred late, each hour or each night: at the second depth nothing is
/// told before the history has the same time yesterday.
const KNOWN_H: [i64; 2] = [0, 24];

/// Three levels are 1.5 to 1.75 times as long.
const LATER_LEVELS: u8 = 3;

/// With fewer requests the median of a point is that of the last ones.
const MEDIAN_OF: u32 = 50;

/// The median as a level among distances from it: half of the levels that [`Latencies`] has room for.
const MIDDLE: u8 = LEVELS as u8;

/// A smaller share of all requests is harmless.
const MIN_SHARE: f64 = 0.001;

/// Fewer late requests in a block are an odd one or two.
const MIN_LATE: f64 = 3.0;

/// More than this part of all requests move the percentile that [`crate::change_detector`] looks at.
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
    /// So many were as far above the median in the history,
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

    fn is_chance(&self, scale: &TimeScale) -> bool {
        self.counted < MIN_LATE || self.surprise() < EVIDENCE / scale.in_a_row as f64
    }
}

/// Requests that are late by one measure.
#[derive(Debug)]
struct Depth {
    /// Of so many requests of the history one is as late.
    odd: u32,
    /// Before there are so many hours of history it finds nothing.
    known_h: i64,
    detectors: [BlockDetector; SCALES.len()],
    blocks: [(usize, Sum); SCALES.len()],
}

/// What is known of the late requests of one port.
#[derive(Debug)]
pub struct Rare {
    /// How far above or below the median requests were while few were late.
    history: History,
    /// Requests of the seconds of the point that is not full, and since when.
    seconds: Vec<Latencies>,
    since_s: Option<i64>,
    /// Those of the last points, as many as a median takes.
    last: Latencies,
    depths: [Depth; ODD.len()],
    once: Once,
}

/// A scale that has found more late ones than ever, the block that told, and from which level on they were late.
type Found = (Slow, Sum, Level);

impl Default for Rare {
    fn default() -> Rare {
        Rare {
            history: History::default(),
            seconds: Vec::new(),
            since_s: None,
            last: Latencies::default(),
            depths: [0, 1].map(Depth::of),
            once: Once::default(),
        }
    }
}

impl Rare {
    /// Takes the next second; whether more are late with it than ever. What is below `floor` is never late.
    pub fn see(&mut self, at_s: i64, answered: &Latencies, floor: Level) -> Option<Late> {
        self.seconds.push(answered.clone());
        if at_s - *self.since_s.get_or_insert(at_s) < POINT_S - 1 {
            return None;
        }
        self.since_s = None;
        let seconds = std::mem::take(&mut self.seconds);
        let mut all = Latencies::default();
        seconds.iter().for_each(|second| all.merge(second));
        let median = self.median(&all)?;
        let found: Vec<Found> = self
            .depths
            .iter_mut()
            .flat_map(|depth| depth.see(&self.history, at_s, &seconds, (median, floor)))
            .collect();
        let is_late = self.is_late();
        let chosen = self.once.choose(found.iter().map(|(slow, _, _)| *slow).collect(), is_late);
        let late = chosen.and_then(|chosen| found.into_iter().find(|(slow, _, _)| *slow == chosen));
        let late = late.map(|(_, block, from)| late_of(&block, from, distance(from, median), self.history.all()));
        if !self.depths.iter().any(Depth::is_high) {
            all.levels().for_each(|(level, count)| self.history.learn(at_s, distance(level, median), count));
        }
        late
    }

    /// Starts again after a time without observation or without requests, or in which many requests were late.
    pub fn pause(&mut self, at_s: i64) {
        self.seconds.clear();
        self.since_s = None;
        self.depths.iter_mut().for_each(|depth| depth.pause(at_s));
    }

    /// Whether more are late than ever.
    pub fn is_late(&self) -> bool {
        self.depths.iter().any(|depth| depth.detectors.iter().any(BlockDetector::is_slow))
    }

    /// The median of a point, or of the last ones where it has too few requests.
    fn median(&mut self, point: &Latencies) -> Option<Level> {
        if self.last.count() >= MEDIAN_OF {
            self.last = Latencies::default();
        }
        self.last.merge(point);
        let of = if point.count() >= MEDIAN_OF { point } else { &self.last };
        of.quantile(0.5)
    }
}

impl Depth {
    fn of(depth: usize) -> Depth {
        Depth { odd: ODD[depth], known_h: KNOWN_H[depth], detectors: Default::default(), blocks: Default::default() }
    }

    /// Takes the seconds of a point; the scales that have found more late ones than ever.
    fn see(
        &mut self,
        history: &History,
        at_s: i64,
        seconds: &[Latencies],
        (median, floor): (Level, Level),
    ) -> Vec<Found> {
        let known = history.all();
        let from = self.late_from(known, median, floor);
        let mut point = Sum::default();
        seconds.iter().for_each(|second| point.add(&sum(known, second, from, median)));
        let is_known = history.spans_h() >= self.known_h;
        if point.are_few_late() { self.judge(at_s, &point, from, is_known) } else { Vec::new() }
    }

    /// From which level on requests are late; the highest while nothing is known.
    fn late_from(&self, known: &Latencies, median: Level, floor: Level) -> Level {
        let usual = known.highest_but(known.count() / self.odd);
        usual.map_or(Level::HIGHEST, |usual| at_distance(usual.above(LATER_LEVELS), median)).max(floor)
    }

    fn judge(&mut self, at_s: i64, point: &Sum, from: Level, is_known: bool) -> Vec<Found> {
        let mut found = Vec::new();
        for ((detector, scale), (points, block)) in self.detectors.iter_mut().zip(&SCALES).zip(&mut self.blocks) {
            *points += 1;
            block.add(point);
            if *points < scale.points {
                continue;
            }
            *points = 0;
            let block = std::mem::take(block);
            let floor = if block.is_chance(scale) || !is_known { Level::HIGHEST } else { share_level(MIN_SHARE) };
            found.extend(detector.judge(scale, at_s, block.level(), floor).map(|slow| (slow, block, from)));
        }
        found
    }

    fn is_high(&self) -> bool {
        self.detectors.iter().any(BlockDetector::is_high)
    }

    fn pause(&mut self, at_s: i64) {
        self.blocks = Default::default();
        self.detectors.iter_mut().for_each(|detector| detector.pause(at_s));
    }
}

fn sum(known: &Latencies, answered: &Latencies, from: Level, median: Level) -> Sum {
    let (all, late) = (answered.count(), answered.at_least(from));
    let expected = f64::from(all) * share(known, distance(from, median));
    let most = MAX_OF_A_SECOND.max(MAX_TIMES_EXPECTED * expected);
    Sum { all, late, counted: f64::from(late).min(most), expected }
}

fn late_of(block: &Sum, from: Level, from_median: Level, known: &Latencies) -> Late {
    Late {
        late: block.late,
        of: block.all,
        from_ns: from.from_ns(),
        before: known.at_least(from_median),
        before_of: known.count(),
    }
}

/// How far a level is above or below the median, as a level.
fn distance(level: Level, median: Level) -> Level {
    Level(level.0.saturating_add(MIDDLE).saturating_sub(median.0))
}

/// The level at such a distance.
fn at_distance(distance: Level, median: Level) -> Level {
    Level(median.0.saturating_add(distance.0).saturating_sub(MIDDLE)).min(Level::HIGHEST)
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
    fn reported(seconds: impl IntoIterator<Item = Latencies>) -> Vec<(i64, u32)> {
        let mut rare = Rare::default();
        let seen = seconds.into_iter().enumerate();
        seen.filter_map(|(at, second)| Some((at as i64, rare.see(at as i64, &second, FLOOR)?.late))).collect()
    }

    const DAY_S: i64 = 24 * 3600;

    /// The same of a service that pauses each minute, so that one request in 300 takes 300 ms, and of which so many of a second take 60 ms.
    /// Times are those after its first day.
    fn reported_with_pauses(until_s: i64, late: impl Fn(i64) -> u32) -> Vec<(i64, u32)> {
        let second = |at: i64| {
            let paused = if at % 60 == 0 { 20 } else { 0 };
            let mut answered = second(100 - paused, late(at));
            answered.add(Level::of_ns(300_000_000), paused);
            answered
        };
        reported((-DAY_S..until_s).map(second)).into_iter().map(|(at, late)| (at - DAY_S, late)).collect()
    }

    #[test]
    fn one_in_a_hundred_for_a_minute() {
        let ill = |from: usize| move |at: usize| second(100, u32::from((from..from + 60).contains(&at)));
        assert_eq!(reported((0..1200).map(ill(600))), [(629, 10)], "known for ten minutes");
        assert_eq!(reported((0..300).map(ill(60))), [(89, 10)], "known for a minute");
        assert_eq!(reported((0..300).map(ill(30))), [], "too little known");
        let few = |at: usize| second(15, u32::from((3600..3900).contains(&at) && at.is_multiple_of(7)));
        let reported_of_few = reported((0..7200).map(few));
        assert!(matches!(reported_of_few[..], [(3600..3900, _)]), "{reported_of_few:?}");
    }

    #[test]
    fn what_is_usual_or_chance_or_a_hiccup_is_none() {
        let odd = |at: usize| second(100, u32::from(at.is_multiple_of(97)));
        assert_eq!(reported((0..7200).map(odd)), [], "one in ten thousand, all the time");
        let pairs = |at: usize| second(100, if at % 300 < 2 { 2 } else { 0 });
        assert_eq!(reported((0..7200).map(pairs)), [], "two seconds each five minutes");
        let job = |at: usize| second(100, u32::from(at % 600 < 60));
        assert!(reported((0..36_000).map(job)).len() <= 3, "a job each ten minutes");
        let hiccup = |at: usize| second(100, if (600..603).contains(&at) { 80 } else { 0 });
        assert_eq!(reported((0..1200).map(hiccup)), [], "three seconds in which most are late");
        let growing = |at: usize| second(if at < 1800 { 100 } else { 1000 }, u32::from(at.is_multiple_of(50)));
        assert_eq!(reported((0..3600).map(growing)), [], "more requests");
    }

    #[test]
    fn what_is_usual_when_all_are_slow_hides_no_late_request_of_other_times() {
        // Bursts in which all take four times as long, and one in a hundred 60 ms.
        let burst = || {
            let mut answered = Latencies::default();
            answered.add(Level::of_ns(16_000_000), 198);
            answered.add(Level::of_ns(60_000_000), 2);
            answered
        };
        let is_ill = |at: usize| (3_700..3_760).contains(&at);
        let seconds = (0..7200).map(|at| if at % 300 < 30 { burst() } else { second(100, u32::from(is_ill(at))) });
        let reported = reported(seconds);
        assert!(matches!(reported[..], [(3_700..3_790, _)]), "{reported:?}");
    }

    #[test]
    fn what_lasts_is_reported_once() {
        let ill = |at: usize| second(100, u32::from(at >= 1200));
        assert_eq!(reported((0..12_000).map(ill)), [(1229, 10)]);
    }

    #[test]
    fn many_requests_are_no_harder_than_few() {
        let ill = |at: usize| {
            let is_ill = (600..660).contains(&at);
            second(10_000, if is_ill { 100 } else { 1 + at as u32 % 3 })
        };
        assert_eq!(reported((0..1200).map(ill)), [(629, 1000)]);
    }

    #[test]
    fn late_by_less_than_usual_pauses() {
        let ill_from = |from: i64| move |at: i64| if (from..from + 300).contains(&at) { 2 } else { 0 };
        let ill = reported_with_pauses(7_200, ill_from(3_600));
        assert!(matches!(ill[..], [(3_600..3_700, 20..)]), "{ill:?}");
        assert_eq!(reported_with_pauses(0, ill_from(-7_200)), [], "not before a day is known");
        assert_eq!(reported_with_pauses(7_200, |_| 0), [], "pauses alone");
    }

    #[test]
    fn what_looks_like_late_by_less_than_usual_pauses() {
        let nightly = |at: i64| if (43_200..43_500).contains(&at.rem_euclid(DAY_S)) { 2 } else { 0 };
        assert_eq!(reported_with_pauses(DAY_S, nightly), [], "a job at the same time each day");
        let hiccup = |at: i64| if (3_600..3_603).contains(&at) { 80 } else { 0 };
        assert_eq!(reported_with_pauses(7_200, hiccup), [], "three seconds in which most are late");
        let odd = |at: i64| u32::from(at % 97 == 0);
        assert_eq!(reported_with_pauses(7_200, odd), [], "one in ten thousand, all the time");
    }
}
