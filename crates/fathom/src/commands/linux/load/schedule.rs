//! Which request is due when: from arrivals, weights and a seed. Pure: no clock, no file, no network.

use std::time::Duration;

use anyhow::{Result, bail};
use fastrand::Rng;
use fathom_readers::{Arrivals, Arrived};

const SECOND_NS: i64 = 1_000_000_000;
const MILLISECOND_NS: i64 = 1_000_000;

/// How long requests with weights and without times are sent unless it is said.
const DURATION_DEFAULT_NS: i64 = 60 * SECOND_NS;

/// More requests of one run are not kept in memory.
pub(super) const REQUESTS_MAX: usize = 2_000_000;

/// What is wanted of a schedule.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) duration: Option<Duration>,
    /// How many times as fast as it was.
    pub(super) speed: Option<f64>,
    /// Requests a second, on average.
    pub(super) rate: Option<f64>,
    pub(super) seed: u64,
}

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// Since the run begins, in ns.
    pub(super) due_ns: i64,
    /// Which of the requests of the mix.
    pub(super) request: u32,
}

/// The times of `arrivals` with their own requests, or with requests of `mix` by their weights. Where there are no times,
/// requests arrive independently of each other (a Poisson process).
pub(super) fn schedule(arrivals: &Arrivals, mix: Option<&Arrivals>, wanted: &Wanted) -> Result<Vec<Due>> {
    let mut rng = Rng::with_seed(wanted.seed);
    let duration_ns = wanted.duration.map(|duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX));
    let mut due = match (arrivals.arrived.is_empty(), wanted.rate) {
        (true, None) => bail!("there are no times in it: give --rate, in requests a second"),
        (true, Some(rate)) => poisson(arrivals, rate, duration_ns.unwrap_or(DURATION_DEFAULT_NS), &mut rng)?,
        (false, _) => as_recorded(&arrivals.arrived, wanted, duration_ns.unwrap_or(i64::MAX), &mut rng),
    };
    if let Some(mix) = mix {
        let weights = Weights::of(mix)?;
        due.iter_mut().for_each(|due| due.request = weights.pick(&mut rng));
    }
    match due.len() {
        0 => bail!("no request is due in that time: give a longer --for"),
        1..=REQUESTS_MAX => Ok(due),
        many => bail!("{many} requests are more than {REQUESTS_MAX}: give a shorter --for"),
    }
}

fn poisson(arrivals: &Arrivals, rate: f64, duration_ns: i64, rng: &mut Rng) -> Result<Vec<Due>> {
    let weights = Weights::of(arrivals)?;
    let mut due = Vec::new();
    let mut at_ns = 0.0;
    while due.len() <= REQUESTS_MAX {
        // A number of (0, 1], whose logarithm is finite.
        at_ns -= (1.0 - rng.f64()).ln() / rate * SECOND_NS as f64;
        if at_ns >= duration_ns as f64 {
            break;
        }
        due.push(Due { due_ns: at_ns as i64, request: weights.pick(rng) });
    }
    Ok(due)
}

fn as_recorded(arrived: &[Arrived], wanted: &Wanted, duration_ns: i64, rng: &mut Rng) -> Vec<Due> {
    let mut due = placed(arrived, rng);
    due.sort_by_key(|due| due.due_ns);
    let first_ns = due.first().map_or(0, |due| due.due_ns);
    let length_ns = due.last().map_or(0, |due| due.due_ns - first_ns).max(1);
    let own_rate = due.len() as f64 / (length_ns as f64 / SECOND_NS as f64);
    let speed = wanted.rate.map_or(wanted.speed.unwrap_or(1.0), |rate| rate / own_rate);
    due.iter_mut().for_each(|due| due.due_ns = ((due.due_ns - first_ns) as f64 / speed) as i64);
    due.truncate(due.partition_point(|due| due.due_ns < duration_ns));
    due
}

/// Every request at the time when it began. What a log gives as one second happened in that second: its requests keep their
/// order and get times at random within it.
fn placed(arrived: &[Arrived], rng: &mut Rng) -> Vec<Due> {
    let resolution_ns = resolution_ns(arrived);
    let mut arrived = arrived.to_vec();
    arrived.sort_by_key(|one| one.time_ns);
    let mut due = Vec::with_capacity(arrived.len());
    for together in arrived.chunk_by(|a, b| a.time_ns == b.time_ns) {
        let mut offsets: Vec<i64> = together.iter().map(|_| rng.i64(0..resolution_ns)).collect();
        offsets.sort_unstable();
        due.extend(
            together
                .iter()
                .zip(offsets)
                .map(|(one, offset)| Due { due_ns: one.time_ns - one.before_ns + offset, request: one.request }),
        );
    }
    due
}

/// In which steps the times were written down.
pub(super) fn resolution_ns(arrived: &[Arrived]) -> i64 {
    let all_of = |step: &i64| arrived.iter().all(|one| one.time_ns % step == 0);
    [SECOND_NS, MILLISECOND_NS].into_iter().find(all_of).unwrap_or(1)
}

/// Requests by their weights.
struct Weights {
    /// Up to and with each request.
    sums: Vec<f64>,
    all: f64,
}

impl Weights {
    fn of(mix: &Arrivals) -> Result<Weights> {
        let mut all = 0.0;
        let sums = mix.requests.iter().map(|(_, weight)| {
            all += weight;
            all
        });
        let sums = sums.collect();
        match all > 0.0 {
            true => Ok(Weights { sums, all }),
            false => bail!("no request has a weight above zero"),
        }
    }

    fn pick(&self, rng: &mut Rng) -> u32 {
        let at = rng.f64() * self.all;
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(times_ns: &[(i64, u32)], weights: &[f64]) -> Arrivals {
        let arrived =
            times_ns.iter().map(|(time_ns, request)| Arrived { time_ns: *time_ns, before_ns: 0, request: *request });
        let requests = weights.iter().enumerate().map(|(index, weight)| (format!("GET /{index}"), *weight));
        Arrivals { requests: requests.collect(), arrived: arrived.collect(), ..Arrivals::default() }
    }

    fn times(due: &[Due]) -> Vec<(i64, u32)> {
        due.iter().map(|due| (due.due_ns, due.request)).collect()
    }

    #[test]
    fn times_are_kept_scaled_and_cut() {
        let recorded =
            arrivals(&[(5_000_000_001, 0), (7_000_000_001, 1), (5_500_000_001, 1), (5_000_000_001, 1)], &[1.0, 3.0]);
        let at = |wanted: Wanted| times(&schedule(&recorded, None, &wanted).unwrap());
        let own = [(0, 0), (0, 1), (500_000_000, 1), (2_000_000_000, 1)];
        assert_eq!(at(Wanted::default()), own);
        let double = at(Wanted { speed: Some(2.0), ..Wanted::default() });
        assert_eq!(double, own.map(|(ns, request)| (ns / 2, request)));
        // Four in two seconds are two a second.
        assert_eq!(at(Wanted { rate: Some(4.0), ..Wanted::default() }), double);
        let cut = at(Wanted { duration: Some(Duration::from_millis(500)), ..Wanted::default() });
        assert_eq!(cut, own[..2]);
    }

    #[test]
    fn what_is_written_in_seconds_is_spread_in_order() {
        let second = |second: i64, count: usize| std::iter::repeat_n(second * SECOND_NS, count);
        let all: Vec<_> = second(10, 50).chain(second(12, 200)).zip(0..).collect();
        let due = schedule(&arrivals(&all, &[]), None, &Wanted { seed: 7, ..Wanted::default() }).unwrap();
        assert!(due.is_sorted_by_key(|due| due.due_ns) && due.iter().map(|due| due.request).eq(0..250));
        // The burst of 200 stays within a second, two after the first: 0 is the first request's own place in its second.
        let burst = &due[50..];
        assert!(burst[199].due_ns - burst[0].due_ns < SECOND_NS);
        assert!(burst[0].due_ns > SECOND_NS && burst[199].due_ns > burst[0].due_ns + SECOND_NS / 2);
    }

    #[test]
    fn ends_are_turned_into_beginnings() {
        let mut recorded = arrivals(&[(1, 0), (2_000_000_001, 1)], &[]);
        recorded.arrived[1].before_ns = 1_999_999_999;
        assert_eq!(times(&schedule(&recorded, None, &Wanted::default()).unwrap()), [(0, 0), (1, 1)]);
    }

    #[test]
    fn weights_arrive_independently() {
        let wanted =
            Wanted { rate: Some(1_000.0), duration: Some(Duration::from_secs(20)), seed: 3, ..Wanted::default() };
        let due = schedule(&arrivals(&[], &[3.0, 0.0, 1.0]), None, &wanted).unwrap();
        // Of a Poisson process 20,000 ± 5 × √20,000, each gap as far from its mean as the mean.
        assert!((19_300..20_700).contains(&due.len()), "{}", due.len());
        let gaps: Vec<f64> = due.windows(2).map(|two| (two[1].due_ns - two[0].due_ns) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((0.9..1.1).contains(&mean) && (0.9..1.1).contains(&variance), "{mean} {variance}");
        let of = |request: u32| due.iter().filter(|due| due.request == request).count() as f64 / due.len() as f64;
        assert!((0.73..0.77).contains(&of(0)) && of(1) == 0.0, "{}", of(0));
        let again = schedule(&arrivals(&[], &[3.0, 0.0, 1.0]), None, &wanted).unwrap();
        assert_eq!(due, again);
    }

    #[test]
    fn a_mix_replaces_the_requests_and_not_the_times() {
        let recorded = arrivals(&[(1, 0), (5, 0)], &[2.0]);
        let due = schedule(&recorded, Some(&arrivals(&[], &[0.0, 1.0])), &Wanted::default()).unwrap();
        assert_eq!(times(&due), [(0, 1), (4, 1)]);
    }

    #[test]
    fn refusals_say_what_to_give() {
        let nothing = Wanted::default();
        let long = Wanted { rate: Some(1e9), ..Wanted::default() };
        for (arrivals, wanted, says) in [
            (arrivals(&[], &[1.0]), &nothing, "--rate"),
            (arrivals(&[], &[0.0]), &Wanted { rate: Some(1.0), ..Wanted::default() }, "weight"),
            (arrivals(&[], &[1.0]), &long, "shorter --for"),
        ] {
            let error = schedule(&arrivals, None, wanted).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
