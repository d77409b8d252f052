//! Whether slowness came by the clock: at each full minute, say, or at equal intervals. If so, something that runs at such
//! times causes it. That need not be the program.
//!
//! The beginnings of slow stretches are put on a circle whose length is the period. If they do not depend on the clock,
//! they are spread all around it. Then the chance is known that their mean is this far from the centre (Rayleigh's test),
//! and that all of them are on so short an arc. Beginnings that follow each other closely count as one. A clock in the
//! incoming requests is no rhythm of the slowness.

use std::f64::consts::TAU;

use crate::Analysis;
use crate::grid::BUCKET_NS;
use crate::median::median;

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;

/// What clocks and timers are set to, in ns.
const PERIODS_NS: [i64; 9] = [
    SECOND_NS,
    10 * SECOND_NS,
    30 * SECOND_NS,
    MINUTE_NS,
    5 * MINUTE_NS,
    10 * MINUTE_NS,
    15 * MINUTE_NS,
    30 * MINUTE_NS,
    60 * MINUTE_NS,
];

/// Fewer beginnings than this tell nothing: two or three may well lie close to each other on a circle.
const MIN_BEGINNINGS: usize = 5;

/// A rhythm that chance would make more often than in one of a thousand recordings is not reported.
const CHANCE: f64 = 0.001;

/// Each period is tried in two ways.
const TESTS: f64 = 2.0 * PERIODS_NS.len() as f64;

/// Beginnings closer than this part of the period are those of one stretch.
const APART: i64 = 4;

/// A gap is as long as the others, or a multiple, if it differs from that by less than this part.
const EQUAL: f64 = 0.1;
/// How likely a gap of any length is that: the part of all lengths that is within that distance of a multiple.
const EQUAL_BY_CHANCE: f64 = 2.0 * EQUAL;

/// Where no period is known, those closer than one of these belong together.
const BURSTS_NS: [i64; 3] = [SECOND_NS / 5, 2 * SECOND_NS, 10 * SECOND_NS];

/// What begins with a bucket has the rhythm of the buckets; a period of as many as this tells them apart.
const COARSE: i64 = 8;

/// Requests that took more than this many times the median are slow.
const SLOW_TIMES: f64 = 2.0;

/// Slow stretches that come by the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    /// From one to the next, in ns.
    pub period_ns: i64,
    /// How long after the full period they begin, for those that come by the clock; none for those in equal distances only.
    pub phase_ns: Option<i64>,
    /// How far from that the farthest begins, in ns.
    pub within_ns: i64,
    /// How many there are.
    pub count: usize,
    /// How likely so clear a rhythm is by chance.
    pub chance: f64,
}

impl Rhythm {
    /// Of what was slow; none where it has none, or too little is known.
    pub fn of(analysis: &Analysis<'_>) -> Option<Rhythm> {
        if analysis.slowdown.time.is_empty() {
            return None;
        }
        let (slow, all) = requests(analysis);
        if all.is_empty() {
            // These begin with a bucket.
            let begins: Vec<i64> = analysis.slowdown.intervals.iter().map(|slow| slow.from_ns).collect();
            let equal = || in_equal_distances(&begins).filter(|rhythm| rhythm.period_ns >= COARSE * BUCKET_NS);
            return by_the_clock(&begins, &[], COARSE * BUCKET_NS).or_else(equal);
        }
        let equal = || BURSTS_NS.into_iter().find_map(|apart_ns| in_equal_distances(&bursts(&slow, apart_ns)));
        by_the_clock(&slow, &all, 0).or_else(equal)
    }
}

/// When the requests came that were slow, and all of them, in order.
fn requests(analysis: &Analysis<'_>) -> (Vec<i64>, Vec<i64>) {
    let lengths = analysis.sources.traffic.requests().map(|request| request.duration_ns() as f64);
    let Some(usual_ns) = median(lengths.collect()) else { return Default::default() };
    let slow_ns = usual_ns * SLOW_TIMES;
    let mut all: Vec<(i64, bool)> = analysis
        .sources
        .traffic
        .requests()
        .map(|request| {
            let is_felt = analysis.slowdown.time.touches(request.from_ns, request.to_ns);
            (request.from_ns, is_felt && request.duration_ns() as f64 > slow_ns)
        })
        .collect();
    all.sort_unstable();
    let slow = all.iter().filter(|(_, is_slow)| *is_slow).map(|(from_ns, _)| *from_ns).collect();
    (slow, all.into_iter().map(|(from_ns, _)| from_ns).collect())
}

/// The longest period to which they keep; none shorter than `finest_ns`.
fn by_the_clock(slow: &[i64], all: &[i64], finest_ns: i64) -> Option<Rhythm> {
    let periods = PERIODS_NS.iter().rev().filter(|period_ns| **period_ns >= finest_ns);
    periods.copied().find_map(|period_ns| at_full(period_ns, slow, all))
}

fn at_full(period_ns: i64, slow: &[i64], all: &[i64]) -> Option<Rhythm> {
    let begins = bursts(slow, period_ns / APART);
    let turns = begins.last()?.saturating_sub(*begins.first()?) / period_ns;
    if begins.len() < MIN_BEGINNINGS || turns < MIN_BEGINNINGS as i64 - 1 {
        return None;
    }
    let (mean_ns, length) = mean(&begins, period_ns);
    let count = begins.len() as f64;
    let rayleigh = (-count * length * length).exp();
    let on_arc = count * arc(&begins, period_ns).powf(count - 1.0);
    let chance = rayleigh.min(on_arc) * TESTS;
    let asked = if all.is_empty() { 0.0 } else { mean(all, period_ns).1 };
    if chance > CHANCE || asked > length / 2.0 {
        return None;
    }
    let farthest = begins.iter().map(|begin| distance(begin - mean_ns, period_ns)).max()?;
    let phase_ns = Some(mean_ns.rem_euclid(period_ns));
    Some(Rhythm { period_ns, phase_ns, within_ns: farthest, count: begins.len(), chance })
}

/// The mean direction on the circle, as a time, and how far it is from the middle: 1 when all are at one place.
fn mean(times: &[i64], period_ns: i64) -> (i64, f64) {
    let angle = |time: &i64| time.rem_euclid(period_ns) as f64 / period_ns as f64 * TAU;
    let sum = times.iter().map(angle).fold((0.0, 0.0), |sum, angle| (sum.0 + angle.cos(), sum.1 + angle.sin()));
    let length = (sum.0 * sum.0 + sum.1 * sum.1).sqrt() / times.len().max(1) as f64;
    ((sum.1.atan2(sum.0) / TAU * period_ns as f64) as i64, length)
}

/// How long the shortest arc is that has all of them, as a part of the circle.
fn arc(times: &[i64], period_ns: i64) -> f64 {
    let mut places: Vec<i64> = times.iter().map(|time| time.rem_euclid(period_ns)).collect();
    places.sort_unstable();
    let around = places.first().zip(places.last()).map(|(first, last)| first + period_ns - last);
    let widest = places.windows(2).map(|pair| pair[1] - pair[0]).chain(around).max().unwrap_or(period_ns);
    (period_ns - widest) as f64 / period_ns as f64
}

/// How far two places on the circle are apart.
fn distance(way_ns: i64, period_ns: i64) -> i64 {
    let way = way_ns.rem_euclid(period_ns);
    way.min(period_ns - way)
}

/// Those that have none closely before them.
fn bursts(times: &[i64], apart_ns: i64) -> Vec<i64> {
    let mut last: Option<i64> = None;
    let mut begins = Vec::new();
    for time in times {
        if last.is_none_or(|last| time.saturating_sub(last) > apart_ns) {
            begins.push(*time);
        }
        last = Some(*time);
    }
    begins
}

/// Each as far from the one before as all others, or a multiple of that.
fn in_equal_distances(begins: &[i64]) -> Option<Rhythm> {
    let gaps: Vec<i64> = begins.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let middle = median(gaps.iter().map(|gap| *gap as f64).collect())?;
    // One gap is the median itself.
    let chance = EQUAL_BY_CHANCE.powi(gaps.len() as i32 - 1);
    let off = |gap: &i64| (*gap as f64 - (*gap as f64 / middle).round().max(1.0) * middle).abs();
    let most_off = gaps.iter().map(off).fold(0.0, f64::max);
    let is_rhythm = begins.len() >= MIN_BEGINNINGS && chance <= CHANCE && most_off <= EQUAL * middle;
    let (period_ns, within_ns) = (middle as i64, most_off as i64);
    is_rhythm.then_some(Rhythm { period_ns, phase_ns: None, within_ns, count: begins.len(), chance })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_NS: i64 = 1_800_000_000 * SECOND_NS;

    fn each(period_ns: i64, count: i64, late_ns: impl Fn(i64) -> i64) -> Vec<i64> {
        (0..count).map(|turn| NOON_NS + turn * period_ns + late_ns(turn)).collect()
    }

    /// Numbers that look like chance and are the same each time.
    fn chance(count: usize, below: i64) -> Vec<i64> {
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 1) as i64 % below
        };
        let mut times: Vec<i64> = (0..count).map(|_| NOON_NS + next()).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn what_comes_at_each_full_minute_is_told_as_that() {
        // Each time some requests are slow for two seconds.
        let slow: Vec<i64> = each(MINUTE_NS, 8, |turn| 300_000_000 + turn % 3 * 200_000_000)
            .into_iter()
            .flat_map(|begin| [begin, begin + SECOND_NS, begin + 2 * SECOND_NS])
            .collect();
        let all = chance(5_000, 8 * MINUTE_NS);
        let rhythm = by_the_clock(&slow, &all, 0).unwrap();
        assert_eq!((rhythm.period_ns, rhythm.count), (MINUTE_NS, 8));
        assert!((400_000_000..600_000_000).contains(&rhythm.phase_ns.unwrap()), "{rhythm:?}");
        assert!(rhythm.within_ns < 300_000_000 && rhythm.chance < 0.01, "{rhythm:?}");
        // As often as the service is asked at all it says nothing of the slowness.
        assert_eq!(by_the_clock(&slow, &slow, 0), None);
    }

    #[test]
    fn the_longest_period_that_all_keep_to_is_told() {
        for (period_ns, count) in [(SECOND_NS, 30), (10 * SECOND_NS, 9), (5 * MINUTE_NS, 7), (60 * MINUTE_NS, 8)] {
            let slow = each(period_ns, count, |_| 20_000_000);
            assert_eq!(by_the_clock(&slow, &[], 0).map(|rhythm| rhythm.period_ns), Some(period_ns));
        }
        assert_eq!(by_the_clock(&each(MINUTE_NS, 4, |_| 0), &[], 0), None, "too few");
    }

    #[test]
    fn equal_distances_need_no_clock() {
        let slow = each(47_300_000_000, 9, |turn| turn % 2 * SECOND_NS);
        assert_eq!(by_the_clock(&slow, &[], 0), None);
        let rhythm = in_equal_distances(&slow).unwrap();
        assert!((45 * SECOND_NS..=49 * SECOND_NS).contains(&rhythm.period_ns), "{rhythm:?}");
        assert_eq!((rhythm.phase_ns, rhythm.count), (None, 9));
        // One was left out.
        let with_gap = [&slow[..4], &slow[5..]].concat();
        assert!(in_equal_distances(&with_gap).is_some());
    }

    #[test]
    fn chance_has_no_rhythm() {
        let mut told = 0;
        for round in 5..200 {
            let slow = &chance(round, 3_600 * SECOND_NS)[..];
            told += usize::from(by_the_clock(slow, &[], 0).is_some() || in_equal_distances(slow).is_some());
        }
        assert_eq!(told, 0);
    }
}
