//! Whether the services of a host turn slow together while the host is short of a resource. A neighbour that takes the
//! CPUs slows each service by less than its own worst second of the day, so no service triggers alone. But if most
//! services are at their slowest in the same seconds, the only explanation is what they share. Pure.
//!
//! Of a healthy service one second in ten is among its slowest tenth. If this holds for most of the last ten seconds, and for two thirds of
//! at least three services at once, it is not chance where the services are independent. Where they are not, the shortage is the reason.

use std::collections::{HashMap, VecDeque};

use crate::admission::JvmKey;

/// So long services are slow together before it is reported.
const WINDOW_S: i64 = 10;

/// Points of a service within that time, below which nothing is known of it.
const POINTS_MIN: usize = 3;

/// Three levels are 1.5 to 1.75 times as long as usual: less is nothing to report.
const RAISED_LEVELS: u8 = 3;

/// Fewer services may turn slow together by chance.
const SERVICES_MIN: usize = 3;

/// What lasts, or comes again, is reported once in so long, and no more often than this in a day.
const EACH_S: i64 = 3600;
const DAY_S: i64 = 24 * EACH_S;
const PER_DAY: usize = 3;

/// Services that are slow together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowTogether {
    /// How many.
    pub(crate) slow: usize,
    /// Of so many that were asked something.
    pub(crate) of: usize,
    /// What the host is short of.
    pub(crate) short_of: &'static str,
}

impl SlowTogether {
    pub(crate) fn says(&self) -> String {
        let SlowTogether { slow, of, short_of } = self;
        format!(
            "{slow} of {of} services take half as long again as usual, or more, at the same time, and the host is short of {short_of}"
        )
    }
}

/// The last seconds of all services.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// By how many levels requests took longer than usual, with when.
    rises: HashMap<JvmKey, VecDeque<(i64, u8)>>,
    short: VecDeque<(i64, &'static str)>,
    reported_s: VecDeque<i64>,
}

impl Together {
    /// A second of the host, and what it was short of in it.
    pub(crate) fn host_second(&mut self, now_s: i64, short_of: Option<&'static str>) {
        self.short.extend(short_of.map(|what| (now_s, what)));
        self.short.retain(|(at_s, _)| is_recent(*at_s, now_s));
        for rises in self.rises.values_mut() {
            rises.retain(|(at_s, _)| is_recent(*at_s, now_s));
        }
        self.rises.retain(|_, rises| !rises.is_empty());
        self.reported_s.retain(|reported_s| now_s - reported_s < DAY_S);
    }

    /// A second of a service that was asked something, and by how many levels its requests took longer than usual. Returns what is to be
    /// reported of all of them, at the one that suffers most.
    pub(crate) fn see(&mut self, jvm: JvmKey, rise: u8, now_s: i64) -> Option<SlowTogether> {
        self.rises.entry(jvm).or_default().push_back((now_s, rise));
        let is_reported =
            self.reported_s.len() >= PER_DAY || self.reported_s.iter().any(|reported_s| now_s - reported_s < EACH_S);
        if rise < RAISED_LEVELS || is_reported {
            return None;
        }
        let short_of = self.short_of(now_s)?;
        let known: Vec<(JvmKey, Option<u32>)> =
            self.rises.iter().filter_map(|(jvm, rises)| Some((*jvm, raised(rises, now_s)?))).collect();
        let slow = known.iter().filter(|(_, raised)| raised.is_some()).count();
        let (worst, _) = known.iter().max_by_key(|(jvm, raised)| (*raised, *jvm))?;
        if slow < SERVICES_MIN || 3 * slow < 2 * known.len() || *worst != jvm {
            return None;
        }
        self.reported_s.push_back(now_s);
        Some(SlowTogether { slow, of: known.len(), short_of })
    }

    /// What the host has been short of in most of the last seconds.
    fn short_of(&self, now_s: i64) -> Option<&'static str> {
        let recent = self.short.iter().filter(|(at_s, _)| is_recent(*at_s, now_s));
        let (_, last) = self.short.back()?;
        (2 * recent.count() as i64 > WINDOW_S).then_some(*last)
    }
}

fn is_recent(at_s: i64, now_s: i64) -> bool {
    now_s - at_s < WINDOW_S
}

/// By how much a service is slow, if it is so at most of its points of the last seconds; nothing where there are too few of them.
fn raised(rises: &VecDeque<(i64, u8)>, now_s: i64) -> Option<Option<u32>> {
    let recent: Vec<u8> = rises.iter().filter(|(at_s, _)| is_recent(*at_s, now_s)).map(|(_, rise)| *rise).collect();
    let high: Vec<u32> = recent.iter().filter(|rise| **rise >= RAISED_LEVELS).map(|rise| u32::from(*rise)).collect();
    let is_most = 3 * high.len() >= 2 * recent.len();
    (recent.len() >= POINTS_MIN).then(|| is_most.then(|| high.iter().sum::<u32>() / high.len().max(1) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUS: Option<&str> = Some("CPUs");

    /// What is reported, by when and at which service, where service `n` rises by `rise(n, second)`.
    fn reported(
        services: u32,
        seconds: i64,
        short: fn(i64) -> Option<&'static str>,
        mut rise: impl FnMut(u32, i64) -> Option<u8>,
    ) -> Vec<(i64, u32, SlowTogether)> {
        let (mut together, mut reported) = (Together::default(), Vec::new());
        for now_s in 0..seconds {
            together.host_second(now_s, short(now_s));
            for service in 0..services {
                let seen = rise(service, now_s).and_then(|rise| together.see((service, 0), rise, now_s));
                reported.extend(seen.map(|seen| (now_s, service, seen)));
            }
        }
        reported
    }

    fn is_neighbour_there(now_s: i64) -> bool {
        (100..160).contains(&now_s)
    }

    fn neighbour(now_s: i64) -> Option<&'static str> {
        CPUS.filter(|_| is_neighbour_there(now_s))
    }

    #[test]
    fn most_of_them_slower_while_the_host_is_short_of_something() {
        let rise = |service: u32, now_s: i64| {
            Some(if is_neighbour_there(now_s) && service > 1 { 3 + service as u8 } else { 0 })
        };
        let expected = SlowTogether { slow: 6, of: 8, short_of: "CPUs" };
        assert_eq!(reported(8, 300, neighbour, rise), [(106, 7, expected)], "the slowest one tells, once");
        assert_eq!(reported(8, 300, |_| None, rise), [], "the host has all that they need");
        assert_eq!(reported(5, 300, neighbour, rise), [], "three of five");
        assert_eq!(
            reported(8, 300, neighbour, |service, now_s| rise(service, now_s).filter(|_| now_s % 5 == 0)),
            [],
            "too few requests"
        );
        assert_eq!(reported(2, 300, neighbour, |_, now_s| rise(7, now_s)), [], "two may do so by chance");
    }

    #[test]
    fn what_comes_each_hour_is_reported_three_times_a_day() {
        let short = |now_s: i64| CPUS.filter(|_| now_s % 5000 < 60);
        let reported = reported(4, 200_000, short, |_, now_s| Some(if now_s % 5000 < 60 { 9 } else { 0 }));
        assert_eq!(reported.len(), 9, "two days and a half");
    }

    #[test]
    fn services_that_do_not_depend_on_each_other_tell_nothing() {
        // Each is slow for some seconds now and then, a tenth of the time altogether, and the host is always short of CPUs.
        let mut random = 7_u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let mut until_s = [0_i64; 12];
        let rise = |service: u32, now_s: i64| {
            let until_s = &mut until_s[service as usize];
            if now_s >= *until_s && next() % 180 == 0 {
                *until_s = now_s + 20;
            }
            Some(if now_s < *until_s { 9 } else { 0 })
        };
        assert_eq!(reported(12, 100_000, |_| CPUS, rise), []);
    }
}
