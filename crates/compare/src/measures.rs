//! What is measured of each run, and the difference between the sides.

use serde::Serialize;

use crate::run::Run;
use crate::statistics::{self, Change, Interval, Order};

/// One number of each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Median latency.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// Mean latency: the time that users waited, per request.
    Mean,
    /// The part of the time in which the application was stopped.
    Stopped,
    /// Thread time lost in slow time, per second.
    Lost,
}

/// Where less than this part of a thread is stopped or lost, it is as good as nothing: one hundredth, below which explanations
/// do not accuse either.
const NOTHING: f64 = 0.01;

impl Measure {
    /// All of them, as they are printed.
    pub const ALL: [Measure; 6] =
        [Measure::P50, Measure::P90, Measure::P99, Measure::Mean, Measure::Stopped, Measure::Lost];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Measure::P50 => "p50",
            Measure::P90 => "p90",
            Measure::P99 => "p99",
            Measure::Mean => "mean",
            Measure::Stopped => "stopped",
            Measure::Lost => "lost",
        }
    }

    /// Unit, as of the evidence of causes.
    pub fn unit(self) -> &'static str {
        match self {
            Measure::Stopped => "ratio",
            Measure::Lost => "threads",
            _ => "ns",
        }
    }

    /// Its value in one run.
    pub fn of(self, run: &Run) -> Option<f64> {
        let latency = run.latencies.as_ref();
        match self {
            Measure::P50 => latency.map(|latencies| latencies.p50_ns),
            Measure::P90 => latency.map(|latencies| latencies.p90_ns),
            Measure::P99 => latency.map(|latencies| latencies.p99_ns),
            Measure::Mean => latency.map(|latencies| latencies.mean_ns),
            Measure::Stopped => (run.length_ns > 0).then_some(run.stopped),
            Measure::Lost => (run.length_ns > 0).then(|| run.lost_ns / run.length_ns as f64),
        }
    }

    /// Whether it decides between better and worse. The tail does not: its noise is so large that it finds nothing and would cost
    /// the others some of their power. What the tail costs users is in the mean.
    pub(crate) fn decides(self, has_requests: bool) -> bool {
        match self {
            Measure::P50 | Measure::Mean => has_requests,
            Measure::Stopped | Measure::Lost => !has_requests,
            Measure::P90 | Measure::P99 => false,
        }
    }

    /// The logarithm of what is compared.
    pub(crate) fn logarithm(self, value: f64) -> f64 {
        match self {
            Measure::Stopped | Measure::Lost => (value + NOTHING).ln(),
            _ => value.max(1.0).ln(),
        }
    }

    fn value(self, interval: Interval) -> Interval {
        let less = |value: f64| match self {
            Measure::Stopped | Measure::Lost => (value - NOTHING).max(0.0),
            _ => value,
        };
        Interval { value: less(interval.value), low: interval.low.map(less), high: interval.high.map(less) }
    }
}

/// A measure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureDifference {
    /// Which.
    pub measure: Measure,
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether it decides between better and worse.
    pub decides: bool,
    /// The first side.
    pub a: Option<Interval>,
    /// The second side.
    pub b: Option<Interval>,
    /// The change from the first to the second; none where a side has one run.
    pub change: Option<Change>,
    /// How likely so large a change is when there is none.
    pub chance: Option<f64>,
    /// The smallest increase that would have been found in 4 of 5 such comparisons: 0.1 is 10 %.
    pub found_from: Option<f64>,
    /// Whether a drift of the machine could have made the change.
    pub may_be_drift: bool,
    /// Whether the change was found, all deciding measures taken together.
    pub found: bool,
}

impl MeasureDifference {
    /// Whether it went up; more is worse for all of them.
    pub(crate) fn is_worse(&self) -> bool {
        self.change.is_some_and(|change| change.by > 0.0)
    }
}

/// All measures that both sides have.
pub(crate) fn compare(a: &[Run], b: &[Run], order: &Order) -> Vec<MeasureDifference> {
    let has_requests = a.iter().chain(b).all(|run| run.latencies.is_some());
    let deciding = Measure::ALL.iter().filter(|measure| measure.decides(has_requests)).count();
    let level = statistics::FALSE_ALARMS / deciding.max(1) as f64;
    let mut all: Vec<MeasureDifference> = Measure::ALL
        .into_iter()
        .filter_map(|measure| difference(measure, [a, b], order, measure.decides(has_requests), level))
        .collect();
    let deciding = |one: &MeasureDifference| if one.decides { one.chance } else { None };
    let chances: Vec<Option<f64>> = all.iter().map(deciding).collect();
    let counts = statistics::holm(&chances, statistics::FALSE_ALARMS);
    all.iter_mut().zip(counts).for_each(|(one, counts)| one.found = counts);
    all
}

fn difference(
    measure: Measure,
    sides: [&[Run]; 2],
    order: &Order,
    decides: bool,
    level: f64,
) -> Option<MeasureDifference> {
    let logarithms = |side: &[Run]| -> Option<Vec<f64>> {
        side.iter().map(|run| measure.of(run).map(|value| measure.logarithm(value))).collect()
    };
    let [a, b] = [logarithms(sides[0])?, logarithms(sides[1])?];
    let times = sides.map(|side| side.iter().map(|run| run.from_ns).collect::<Vec<i64>>());
    let difference = statistics::compare(&a, &b, order, [&times[0], &times[1]]);
    Some(MeasureDifference {
        measure,
        unit: measure.unit(),
        decides,
        a: Interval::of(&a).map(|interval| measure.value(interval)),
        b: Interval::of(&b).map(|interval| measure.value(interval)),
        change: difference.and_then(|difference| difference.change()),
        chance: difference.and_then(|difference| difference.chance()),
        found_from: difference.and_then(|difference| difference.found_from(level)),
        may_be_drift: difference.is_some_and(|difference| difference.may_be_drift()),
        found: false,
    })
}
