//! One port of one JVM: its requests of each second, and whether they turned slow, stalled or hung.
//!
//! * *slow*: two [`ChangeDetector`]s for how long requests take, at the 95th percentile and at the median. Single bad requests of
//!   healthy seconds raise the usual 95th percentile and so hide that all requests have become slower. Points of many requests
//!   and of few have separate histories, because the 95th percentile of two requests is not comparable to that of two thousand.
//! * *stall*: several requests of one second took far longer than they ever do. That may happen by chance, so it is
//!   reported at most twice a day, and not where it is usual. This limits the cost of false alarms for every service.
//! * *rare*: [`Rare`], where too few are late to move the percentile that the detector looks at.
//! * *hung*: more requests are pending than ever before, and none is answered.

use std::collections::VecDeque;
use std::time::Duration;

use crate::change_detector::{ChangeDetector, OF_MEDIANS, OF_TAILS};
use crate::levels::{Latencies, Level};
use crate::rare::{Late, Rare};

/// A percentile of fewer requests is their longest.
const MANY: u32 = 20;

/// For so long requests are gathered until there are [`MANY`].
const GATHER_S: i64 = 10;

/// What is compared: the tail moves first where few are held up, the median where all are, and where single bad requests of healthy
/// seconds have made the tail long. The part of requests that is below each.
const TAIL: f64 = 0.95;
const MEDIAN: f64 = 0.5;

/// After so long without a request nothing goes on.
const IDLE_S: i64 = 60;

/// So many requests of one second make a stall: what one thing held up is more than one request, an odd one is not.
const STALLED: u32 = 3;

/// Eight levels are four times as long: far longer than any second but one in 500.
const STALL_LEVELS: u8 = 8;

const DAY_S: i64 = 24 * 3600;

/// A port reports at most this many stalls per day.
const STALLS_PER_DAY: usize = 2;

/// Seconds with stalls are looked at over this time; with more of them than [`STALLS_USUAL`] they are usual.
const STALLS_KEPT_S: i64 = 3600;
const STALLS_USUAL: usize = 6;

/// Requests lie for at least so long when a port hangs.
const HUNG_S: i64 = 3;

/// Which requests of a point are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantile {
    /// The 95th percentile.
    Tail,
    /// The 50th.
    Median,
}

/// What a port does that it does not do otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Requests take longer than they ever do.
    Slow {
        /// Of what.
        quantile: Quantile,
        /// It is at least this now, in ns; the median is known to half a level, as if requests of a level were spread evenly over it.
        from_ns: u64,
        /// It was below this until now, but for rare moments, in ns.
        below_ns: u64,
    },
    /// Several requests of one second were held up.
    Stall {
        /// How many.
        count: u32,
        /// For at least how long, in ns.
        from_ns: u64,
    },
    /// Few are late, but more than ever.
    Rare(Late),
    /// Nothing is answered.
    Hung {
        /// Requests that lie there.
        under_way: u32,
        /// For how long none was answered, in s.
        for_s: i64,
    },
}

/// One second of a port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PortSecond {
    /// Requests that were answered.
    pub answered: Latencies,
    /// Requests that have arrived and are not answered.
    pub under_way: u32,
}

/// From which lengths on requests are slow at all.
#[derive(Debug, Clone, Copy)]
pub struct Floors {
    /// What takes less is never slow.
    pub slow: Level,
    /// What takes less is no stall.
    pub stall: Level,
}

impl Floors {
    /// From these lengths on.
    pub fn new(slow: Duration, stall: Duration) -> Floors {
        let level = |time: Duration| Level::from_length(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Floors { slow: level(slow), stall: level(stall) }
    }
}

/// What is known of a port.
#[derive(Debug)]
pub struct Port {
    /// Of few requests and of many.
    tails: [ChangeDetector; 2],
    medians: [ChangeDetector; 2],
    rare: Rare,
    gathered: Latencies,
    gathered_since_s: Option<i64>,
    last_answer_s: Option<i64>,
    /// Seconds since the last answer, counting only observed seconds: a recording interrupts the observation.
    unanswered_s: i64,
    /// Most requests that were under way in each of the last hours.
    under_way: VecDeque<(i64, u32)>,
    /// Seconds with stalls, and those that were reported.
    stalls_s: VecDeque<i64>,
    reported_s: VecDeque<i64>,
    is_hung: bool,
    rise: Option<Rise>,
}

/// How a port's last point is among all of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rise {
    /// Requests of the point.
    pub count: u32,
    /// By how many levels they took longer than usual; 0 where one in ten points is as high.
    pub levels: u8,
}

impl Default for Port {
    fn default() -> Port {
        let both = |scales| [ChangeDetector::new(scales), ChangeDetector::new(scales)];
        Port {
            tails: both(OF_TAILS),
            medians: both(OF_MEDIANS),
            rare: Rare::default(),
            gathered: Latencies::default(),
            gathered_since_s: None,
            last_answer_s: None,
            unanswered_s: 0,
            under_way: VecDeque::new(),
            stalls_s: VecDeque::new(),
            reported_s: VecDeque::new(),
            is_hung: false,
            rise: None,
        }
    }
}

impl Port {
    /// Takes the next second.
    pub fn see(&mut self, at_s: i64, second: &PortSecond, floors: Floors) -> Vec<Finding> {
        if self.last_answer_s.is_some_and(|last_s| at_s - last_s > IDLE_S) {
            self.tails.iter_mut().chain(&mut self.medians).for_each(|detector| detector.pause(at_s));
            self.rare.pause(at_s);
        }
        let hung = self.hung(at_s, second);
        let stall = self.stall(at_s, second, floors);
        let slow = self.slow(at_s, second, floors);
        let rare = self.rare(at_s, second, floors);
        slow.into_iter().chain(stall).chain(rare).chain(hung).collect()
    }

    /// How its point of this second is among all of its own, if there is one.
    pub fn rise(&self) -> Option<Rise> {
        self.rise
    }

    /// Whether it is slow or hangs at present.
    pub fn is_ill(&self) -> bool {
        self.is_hung || self.is_slow()
    }

    /// Whether it is slow at present.
    pub fn is_slow(&self) -> bool {
        self.tails.iter().chain(&self.medians).any(ChangeDetector::is_slow)
    }

    /// Whether more of its requests are late than ever at present, though few.
    pub fn is_rarely_late(&self) -> bool {
        self.rare.is_late()
    }

    fn slow(&mut self, at_s: i64, second: &PortSecond, floors: Floors) -> Option<Finding> {
        self.rise = None;
        if second.answered.count() > 0 {
            self.gathered.merge(&second.answered);
            self.gathered_since_s.get_or_insert(at_s);
        }
        let since_s = self.gathered_since_s?;
        let are_many = self.gathered.count() >= MANY;
        if !are_many && at_s - since_s < GATHER_S {
            return None;
        }
        self.gathered_since_s = None;
        let gathered = std::mem::take(&mut self.gathered);
        let was_slow = self.is_slow();
        let of_these = usize::from(are_many);
        let (tail, median) = (gathered.quantile(TAIL)?, gathered.quantile_in_halves(MEDIAN)?);
        let rise = if tail >= floors.slow { self.levels_above(of_these, (tail, median)) } else { Some(0) };
        self.rise = rise.map(|levels| Rise { count: gathered.count(), levels });
        let tail = self.tails[of_these].see(at_s, tail, floors.slow);
        let median = self.medians[of_these].see(at_s, median, floors.slow.in_halves());
        let tail = tail.map(|slow| (Quantile::Tail, slow.level.from_ns(), slow.usual.to_ns()));
        let median =
            median.map(|slow| (Quantile::Median, slow.level.half_from_ns(), slow.usual.above(1).half_from_ns()));
        let (quantile, from_ns, below_ns) = tail.or(median).filter(|_| !was_slow)?;
        Some(Finding::Slow { quantile, from_ns, below_ns })
    }

    /// The tail or the median may be what rises, which is known to half a level.
    fn levels_above(&self, of_these: usize, (tail, median): (Level, Level)) -> Option<u8> {
        let tail = self.tails[of_these].rise(tail)?;
        let median = self.medians[of_these].rise(median)? / 2;
        Some(tail.max(median))
    }

    fn rare(&mut self, at_s: i64, second: &PortSecond, floors: Floors) -> Option<Finding> {
        if self.is_ill() {
            self.rare.pause(at_s);
            return None;
        }
        self.rare.see(at_s, &second.answered, floors.slow).map(Finding::Rare)
    }

    fn stall(&mut self, at_s: i64, second: &PortSecond, floors: Floors) -> Option<Finding> {
        forget(&mut self.stalls_s, at_s - STALLS_KEPT_S);
        forget(&mut self.reported_s, at_s - DAY_S);
        let usual = self.tails.iter().filter_map(ChangeDetector::usual).max()?;
        let from = usual.above(STALL_LEVELS).max(floors.stall);
        let count = second.answered.at_least(from);
        if count < STALLED {
            return None;
        }
        self.stalls_s.push_back(at_s);
        if self.stalls_s.len() > STALLS_USUAL || self.reported_s.len() >= STALLS_PER_DAY || self.is_ill() {
            return None;
        }
        self.reported_s.push_back(at_s);
        Some(Finding::Stall { count, from_ns: from.from_ns() })
    }

    fn hung(&mut self, at_s: i64, second: &PortSecond) -> Option<Finding> {
        if second.answered.count() > 0 {
            self.last_answer_s = Some(at_s);
            self.unanswered_s = 0;
            self.is_hung = false;
        } else if self.last_answer_s.is_some() {
            self.unanswered_s += 1;
        }
        self.last_answer_s?;
        let for_s = self.unanswered_s;
        let most = self.under_way.iter().map(|(_, count)| *count).max();
        let are_more = most.is_some_and(|most| second.under_way > most.saturating_add(most / 2).saturating_add(1));
        let knows_it = self.tails.iter().any(|detector| detector.usual().is_some());
        if for_s < HUNG_S || !are_more || !knows_it {
            self.learn_under_way(at_s, second.under_way, for_s);
            return None;
        }
        let is_new = !std::mem::replace(&mut self.is_hung, true);
        is_new.then_some(Finding::Hung { under_way: second.under_way, for_s })
    }

    /// What piles up while nothing is answered is not usual.
    fn learn_under_way(&mut self, at_s: i64, count: u32, for_s: i64) {
        let hour = at_s.div_euclid(3600);
        self.under_way.retain(|(other, _)| *other + 24 >= hour);
        if for_s > 0 && self.under_way.iter().any(|(other, _)| *other == hour) {
            return;
        }
        match self.under_way.back_mut() {
            Some((other, most)) if *other == hour => *most = count.max(*most),
            _ => self.under_way.push_back((hour, count)),
        }
    }
}

fn forget(times_s: &mut VecDeque<i64>, before_s: i64) {
    while times_s.front().is_some_and(|time_s| *time_s < before_s) {
        times_s.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: Floors = Floors { slow: Level(50), stall: Level(67) };

    /// A second with so many requests of each length.
    fn second(ms: &[(f64, u32)], under_way: u32) -> PortSecond {
        let mut answered = Latencies::default();
        ms.iter().for_each(|(ms, count)| answered.add(Level::of_ns((ms * 1e6) as u64), *count));
        PortSecond { answered, under_way }
    }

    fn found(seconds: impl IntoIterator<Item = PortSecond>) -> Vec<(usize, Finding)> {
        let mut port = Port::default();
        let seconds = seconds.into_iter().enumerate();
        seconds
            .flat_map(|(at, second)| port.see(at as i64, &second, FLOORS).into_iter().map(move |f| (at, f)))
            .collect()
    }

    fn healthy(count: usize) -> impl Iterator<Item = PortSecond> {
        std::iter::repeat_n(second(&[(8.0, 90), (16.0, 10)], 2), count)
    }

    #[test]
    fn a_healthy_port_says_nothing() {
        assert_eq!(found(healthy(4000)), []);
        let odd = (0..4000).map(|at| second(&[(8.0, 90), (if at % 7 == 0 { 900.0 } else { 9.0 }, 1)], 2));
        assert_eq!(found(odd), [], "one slow request now and then");
        let busy_by_turns = (0..4000).map(|at| match at / 100 % 3 {
            0 => second(&[], 0),
            1 => second(&[(2.0, 1)], 1),
            _ => second(&[(8.0, 300), (30.0, 100)], 9),
        });
        assert_eq!(found(busy_by_turns), [], "idle, few, many");
    }

    #[test]
    fn slow_stalled_and_hung() {
        let slow = found(healthy(300).chain(std::iter::repeat_n(second(&[(50.0, 100)], 5), 60)));
        assert!(matches!(&slow[..], [(302, Finding::Slow { .. })]), "{slow:?}");
        let stall = found(healthy(300).chain([second(&[(8.0, 80), (150.0, 12)], 2)]).chain(healthy(300)));
        assert!(matches!(&stall[..], [(300, Finding::Stall { count: 12, .. })]), "{stall:?}");
        let hung = found(healthy(300).chain((0..30).map(|at| second(&[], 2 + at * 10))).chain(healthy(20)));
        assert!(matches!(&hung[..], [(302, Finding::Hung { for_s: 3, .. })]), "{hung:?}");
    }

    #[test]
    fn a_point_is_compared_with_all_of_its_own() {
        let mut port = Port::default();
        let mut rise = |at: i64, ms: f64, count: u32| {
            port.see(at, &second(&[(ms, count)], 2), FLOORS);
            port.rise()
        };
        for at in 0..200 {
            let known = rise(at, if at % 20 == 0 { 30.0 } else { 8.0 }, 90).map(|rise| rise.levels);
            let expected = if at % 20 == 0 { 8 } else { 0 };
            assert_eq!(known, (at >= 50).then_some(expected), "{at}");
        }
        assert_eq!(rise(200, 16.0, 90), Some(Rise { count: 90, levels: 4 }), "less than its worst seconds");
        assert_eq!((rise(201, 0.5, 90).map(|rise| rise.levels), rise(202, 16.0, 3)), (Some(0), None));
        for at in 203..260 {
            rise(at, 16.0, 90);
        }
        assert_eq!(rise(260, 16.0, 90).map(|rise| rise.levels), Some(0), "one in ten is as high");
    }

    #[test]
    fn a_median_that_rises_is_slow_though_the_tail_was_always_long() {
        // Each second has two bad requests of a hundred, and some have six: the 95th percentile of those is 90 ms.
        let bad = |at: usize| if at.is_multiple_of(9) { 6 } else { 2 };
        let usual = |at: usize| second(&[(8.0, 100), (90.0, bad(at))], 2);
        let all_slow = |at: usize| second(&[(75.0, 100), (90.0, bad(at))], 2);
        let slow = found((0..600).map(usual).chain((600..660).map(all_slow)).chain((660..900).map(usual)));
        let [(602, Finding::Slow { quantile: Quantile::Median, from_ns, below_ns })] = &slow[..] else {
            panic!("{slow:?}");
        };
        assert!((65_000_000..=76_000_000).contains(from_ns) && *below_ns <= 9_500_000, "{from_ns} {below_ns}");
    }

    #[test]
    fn all_requests_a_little_slower_for_minutes() {
        let spread = |at: usize, factor: f64| {
            let lengths = [4.0, 5.0, 6.0, 7.0, 8.0 + (at % 5) as f64, 20.0];
            second(&lengths.map(|ms| (ms * factor, 10)), 2)
        };
        let usual = |from: usize, to: usize| (from..to).map(move |at| spread(at, 1.0));
        let slow = found(usual(0, 1800).chain((1800..2100).map(|at| spread(at, 1.4))).chain(usual(2100, 3000)));
        assert!(matches!(&slow[..], [(1800..2100, Finding::Slow { quantile: Quantile::Median, .. })]), "{slow:?}");
    }

    #[test]
    fn all_requests_a_little_slower_for_two_minutes() {
        // A second has ten requests, so that each point is two seconds; one takes long, which hides the others from the 95th percentile.
        let of =
            |at: usize, factor: f64| second(&[(22.0 * factor, 5), ((23 + at % 2) as f64 * factor, 4), (90.0, 1)], 2);
        let usual = |from: usize, to: usize| (from..to).map(move |at| of(at, 1.0));
        let slow = found(usual(0, 300).chain((300..420).map(|at| of(at, 1.4))).chain(usual(420, 900)));
        assert!(matches!(&slow[..], [(300..400, Finding::Slow { quantile: Quantile::Median, .. })]), "{slow:?}");
        let mild = found(usual(0, 300).chain((300..420).map(|at| of(at, 1.15))).chain(usual(420, 900)));
        assert_eq!(mild, []);
    }

    #[test]
    fn what_nobody_looked_at_hangs_nobody() {
        let mut port = Port::default();
        for at in 0..300 {
            assert_eq!(port.see(at, &second(&[(8.0, 90)], u32::MAX / 2), FLOORS), []);
        }
        // A recording took half a minute; then requests come in before the first is answered.
        for at in 332..334 {
            assert_eq!(port.see(at, &second(&[], u32::MAX), FLOORS), [], "{at}");
        }
        let reported = port.see(334, &second(&[], u32::MAX), FLOORS);
        assert!(matches!(&reported[..], [Finding::Hung { for_s: 3, .. }]), "{reported:?}");
    }

    #[test]
    fn stalls_that_come_all_the_time_are_reported_twice_a_day_at_most() {
        let stalls = (0..100_000).map(|at| match at % 700 {
            699 => second(&[(8.0, 80), (900.0, 12)], 2),
            _ => second(&[(8.0, 80)], 2),
        });
        assert!(found(stalls).len() <= 4, "two for each of two days");
    }

    #[test]
    fn connections_that_wait_for_something_to_happen_hang_nobody() {
        let polls = (0..4000).map(|at| if at % 50 == 0 { second(&[(49_000.0, 30)], 30) } else { second(&[], 30) });
        assert_eq!(found(polls), []);
    }
}
