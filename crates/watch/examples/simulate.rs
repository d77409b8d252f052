//! How soon slow requests are noticed, and how often there is a false alarm. Two days of seven services are simulated second by
//! second, with known slowdowns on the second day, and given to `fathom watch`, to a fixed threshold and to z-scores.
//!
//! `cargo run --release -p fathom-watch --example simulate -- [SEEDS]` (`bench/watch/run`)

use std::collections::VecDeque;
use std::time::Duration;

use fathom_watch::levels::{Latencies, Level};
use fathom_watch::port::{Finding, Floors, Port, PortSecond};

const DAY_S: i64 = 86_400;
const HOUR_S: i64 = 3_600;

/// An alarm so long after a slowdown has ended still belongs to it.
const AFTER_S: i64 = 30;

/// Alarms closer than this count as one: a cool-down allows only one recording.
const COOL_DOWN_S: i64 = 600;

/// Numbers that look like chance (xorshift64*).
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn poisson(&mut self, mean: f64) -> u32 {
        if mean > 30.0 {
            return (mean + mean.sqrt() * self.normal()).max(0.0).round() as u32;
        }
        let (limit, mut product, mut count) = ((-mean).exp(), self.unit(), 0);
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }
}

/// What a service does in a second when nothing is wrong: requests per second, median in ms, spread of the logarithm, and
/// for how long everything stands still in it, in ms.
type Healthy = fn(i64) -> (f64, f64, f64, f64);

/// A pseudo-random number of a stretch of time, so that bursts come irregularly but are the same for all.
fn hash(number: i64) -> f64 {
    Chance((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).unit()
}

fn rhythm(at_s: i64) -> f64 {
    0.5 - 0.5 * (std::f64::consts::TAU * at_s as f64 / DAY_S as f64).cos()
}

fn burst(at_s: i64) -> bool {
    let (slot, within) = (at_s.div_euclid(400), at_s.rem_euclid(400));
    let begin = (hash(slot) * 300.0) as i64;
    (begin..begin + 20 + (hash(slot + 7) * 60.0) as i64).contains(&within)
}

fn is_job(at_s: i64) -> bool {
    at_s.rem_euclid(HOUR_S) < 120 || (2 * HOUR_S..2 * HOUR_S + 2400).contains(&at_s.rem_euclid(DAY_S))
}

const SERVICES: [(&str, Healthy); 7] = [
    ("steady", |_| (50.0, 5.0, 0.5, 0.0)),
    ("heavy tail", |_| (80.0, 5.0, 1.1, 0.0)),
    ("rhythm of a day", |at| (5.0 + 150.0 * rhythm(at), 4.0 * (1.0 + 1.5 * rhythm(at)), 0.5, 0.0)),
    ("bursts", |at| if burst(at) { (250.0, 18.0, 0.6, 0.0) } else { (20.0, 5.0, 0.5, 0.0) }),
    ("batch jobs", |at| if is_job(at) { (40.0, 30.0, 0.7, 0.0) } else { (15.0, 5.0, 0.5, 0.0) }),
    ("nearly idle", |at| (if at % 900 < 600 { 0.3 } else { 0.0 }, 8.0, 0.6, 0.0)),
    ("pauses", |at| (60.0, 5.0, 0.5, if hash(at) < 0.05 { 60.0 + 60.0 * hash(at + 3) } else { 0.0 })),
];

/// A planted slowdown.
#[derive(Clone, Copy)]
struct Planted {
    kind: usize,
    from_s: i64,
    length_s: i64,
    factor: f64,
    stall_ms: f64,
    /// The part of requests that takes 50 ms longer.
    late: f64,
}

const KINDS: [&str; 7] = [
    "150 ms",
    "10 s, 4 times",
    "10 min, 3 times",
    "1 h, 2.5 times",
    "1 min, one in a hundred 50 ms longer",
    "10 min, one in a hundred 50 ms longer",
    "5 min, all 1.4 times",
];

/// One of each kind on the second day, at times and in an order that differ from seed to seed.
fn planted(seed: u64) -> Vec<Planted> {
    let slot_s = DAY_S / KINDS.len() as i64;
    let plant = |kind: usize| {
        let slot = (kind as i64 + seed as i64) % KINDS.len() as i64;
        let room_s = slot_s - 3 * HOUR_S / 2;
        let from_s = DAY_S + slot * slot_s + (hash(seed as i64 * 10 + slot) * room_s as f64) as i64;
        let (length_s, factor, stall_ms, late) = [
            (1, 1.0, 150.0, 0.0),
            (10, 4.0, 0.0, 0.0),
            (600, 3.0, 0.0, 0.0),
            (3600, 2.5, 0.0, 0.0),
            (60, 1.0, 0.0, 0.01),
            (600, 1.0, 0.0, 0.01),
            (300, 1.4, 0.0, 0.0),
        ][kind];
        Planted { kind, from_s, length_s, factor, stall_ms, late }
    };
    (0..KINDS.len()).map(plant).collect()
}

fn second(at_s: i64, healthy: Healthy, planted: &[Planted], chance: &mut Chance) -> PortSecond {
    let (per_s, median_ms, spread, mut stood_ms) = healthy(at_s);
    let is_now = |one: &&Planted| (one.from_s..one.from_s + one.length_s).contains(&at_s);
    let now = planted.iter().find(is_now);
    let factor = now.map_or(1.0, |one| one.factor);
    stood_ms += now.map_or(0.0, |one| one.stall_ms);
    let late = now.map_or(0.0, |one| one.late);
    let mut answered = Latencies::default();
    for _ in 0..chance.poisson(per_s) {
        let mut ms = median_ms * factor * (spread * chance.normal()).exp();
        // No random number is drawn if no request is late, so that healthy seconds are the same whatever is planted.
        if late > 0.0 && chance.unit() < late {
            ms += 50.0;
        }
        // A request that arrives during a stall waits for the rest of it.
        let since_ms = chance.unit() * 1000.0;
        if since_ms < stood_ms {
            ms += stood_ms - since_ms;
        }
        answered.add(Level::of_ns((ms * 1e6) as u64), 1);
    }
    PortSecond { answered, under_way: 0 }
}

/// A detector that reports when requests are slow.
trait Judge {
    fn see(&mut self, at_s: i64, second: &PortSecond) -> bool;
}

#[derive(Default)]
struct Watch {
    port: Port,
    /// Whether rare requests are left out, to see what they add.
    only_many: bool,
}

impl Judge for Watch {
    fn see(&mut self, at_s: i64, second: &PortSecond) -> bool {
        let floors = Floors::new(Duration::from_millis(5), Duration::from_millis(50));
        let found = self.port.see(at_s, second, floors);
        found.iter().any(|finding| !self.only_many || !matches!(finding, Finding::Rare(_)))
    }
}

/// The 95th percentile of each second above a limit for ten seconds. The limit is twice the highest of the first hour,
/// as an engineer who has looked at the service for that long would set it.
#[derive(Default)]
struct Fixed {
    highest_ms: f64,
    above_s: u32,
}

impl Judge for Fixed {
    fn see(&mut self, at_s: i64, second: &PortSecond) -> bool {
        let Some(level) = second.answered.quantile(0.95) else { return false };
        let ms = level.from_ns() as f64 / 1e6;
        if at_s < HOUR_S {
            self.highest_ms = self.highest_ms.max(ms);
            return false;
        }
        self.above_s = if ms > 2.0 * self.highest_ms { self.above_s + 1 } else { 0 };
        self.above_s == 10
    }
}

/// The 95th percentile of each second more than three standard deviations above the mean of the last hour, for ten seconds.
#[derive(Default)]
struct ZScore {
    last: VecDeque<f64>,
    sum: f64,
    squares: f64,
    above_s: u32,
}

impl Judge for ZScore {
    fn see(&mut self, _: i64, second: &PortSecond) -> bool {
        let Some(level) = second.answered.quantile(0.95) else { return false };
        let ms = level.from_ns() as f64 / 1e6;
        let count = self.last.len() as f64;
        let mean = self.sum / count.max(1.0);
        let deviation = (self.squares / count.max(1.0) - mean * mean).max(0.0).sqrt();
        let is_above = self.last.len() > 600 && ms > mean + 3.0 * deviation;
        self.above_s = if is_above { self.above_s + 1 } else { 0 };
        self.last.push_back(ms);
        (self.sum, self.squares) = (self.sum + ms, self.squares + ms * ms);
        if self.last.len() > 3600 {
            let gone = self.last.pop_front().unwrap_or_default();
            (self.sum, self.squares) = (self.sum - gone, self.squares - gone * gone);
        }
        self.above_s == 10
    }
}

/// What one judge did on all of it.
#[derive(Default, Clone)]
struct Score {
    planted: [u32; KINDS.len()],
    found: [u32; KINDS.len()],
    delays_s: [Vec<i64>; KINDS.len()],
    false_first_day: u32,
    false_second_day: u32,
}

impl Score {
    fn add(&mut self, alarms: &[i64], planted: &[Planted]) {
        let belongs = |alarm: i64, one: &Planted| (one.from_s..one.from_s + one.length_s + AFTER_S).contains(&alarm);
        for one in planted {
            self.planted[one.kind] += 1;
            if let Some(first) = alarms.iter().find(|alarm| belongs(**alarm, one)) {
                self.found[one.kind] += 1;
                self.delays_s[one.kind].push(first - one.from_s);
            }
        }
        let mut last_s = i64::MIN / 2;
        for alarm in alarms.iter().filter(|alarm| !planted.iter().any(|one| belongs(**alarm, one))) {
            if alarm - last_s >= COOL_DOWN_S {
                match *alarm < DAY_S {
                    true => self.false_first_day += 1,
                    false => self.false_second_day += 1,
                }
                last_s = *alarm;
            }
        }
    }

    fn print(&mut self, name: &str) {
        let (planted, found): (u32, u32) = (self.planted.iter().sum(), self.found.iter().sum());
        let precision = f64::from(found) / f64::from((found + self.false_second_day).max(1));
        let recall = f64::from(found) / f64::from(planted.max(1));
        let (first, second) = (self.false_first_day, self.false_second_day);
        print!("| {name} | {recall:.2} | {precision:.2} | {first} | {second} |");
        for kind in 0..KINDS.len() {
            self.delays_s[kind].sort_unstable();
            let delay = self.delays_s[kind].get(self.delays_s[kind].len() / 2);
            let delay = delay.map_or("-".to_owned(), |delay| format!("{delay} s"));
            print!(" {} of {}, {delay} |", self.found[kind], self.planted[kind]);
        }
        println!();
    }
}

fn judges() -> Vec<(&'static str, Box<dyn Judge>)> {
    vec![
        ("fathom watch", Box::<Watch>::default()),
        ("fathom watch without `requests_rare`", Box::new(Watch { only_many: true, ..Watch::default() })),
        ("fixed threshold", Box::<Fixed>::default()),
        ("z-score", Box::<ZScore>::default()),
    ]
}

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(8);
    let mut totals = vec![Score::default(); judges().len()];
    let titles = KINDS.map(|kind| format!("found of {kind}, median delay")).join(" | ");
    println!("| service, judge | recall | precision | false on the first day | on the second | {titles} |");
    println!("|---|--:|--:|--:|--:|{}", "---|".repeat(KINDS.len()));
    for (service, healthy) in SERVICES {
        let mut scores = vec![Score::default(); judges().len()];
        for seed in 1..=seeds {
            let planted = planted(seed);
            let mut chance = Chance(seed.wrapping_mul(0xD1B5_4A32_D192_ED03) | 1);
            let mut judges = judges();
            let mut alarms = vec![Vec::new(); judges.len()];
            for at_s in 0..2 * DAY_S {
                let second = second(at_s, healthy, &planted, &mut chance);
                for (judge, alarms) in judges.iter_mut().zip(&mut alarms) {
                    if judge.1.see(at_s, &second) {
                        alarms.push(at_s);
                    }
                }
            }
            scores.iter_mut().zip(&mut totals).zip(&alarms).for_each(|((score, total), alarms)| {
                score.add(alarms, &planted);
                total.add(alarms, &planted);
            });
        }
        judges().iter().zip(&mut scores).for_each(|((name, _), score)| score.print(&format!("{service}, {name}")));
    }
    judges().iter().zip(&mut totals).for_each(|((name, _), score)| score.print(&format!("**all, {name}**")));
}
