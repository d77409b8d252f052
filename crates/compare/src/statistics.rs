//! Statistics over runs. Nothing here knows what a recording is: numbers in, numbers out.
//!
//! * **The run is the unit.** The requests of one run share its JVM, its code layout and its neighbours, so they are no independent
//!   measurements of the next run. Each run gives one number.
//! * **Logarithms.** Latencies are positive and vary by factors, so runs are compared by the logarithms of their numbers, and
//!   a difference is a ratio.
//! * **No difference is never said alone.** With it comes the smallest difference that would have been found.

mod change_points;
mod difference;
mod holm;
mod interval;
mod order;
#[cfg(test)]
mod simulated;

pub use change_points::{ChangePoint, MAX_SERIES, change_points};
pub use difference::{Change, Difference, compare};
pub use holm::holm;
pub use interval::Interval;
pub use order::Order;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often at most runs that are the same are called different.
pub const FALSE_ALARMS: f64 = 0.05;

/// How often a difference is found that is said to be found.
pub const POWER: f64 = 0.8;

/// Runs are never taken to agree better than this, as a standard deviation of logarithms: 0.5 %. Latencies in whole milliseconds
/// may be the same in all runs, and that is their rounding. On a quiet machine runs of one program differ by 2 to 3 %.
pub(crate) const LEAST_DEVIATION: f64 = 0.005;

/// The quantile of Student's t. `None` without degrees of freedom.
pub(crate) fn t_quantile(probability: f64, freedom: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(probability))
}

/// How likely a value of Student's t is that is as far from zero, on either side.
pub(crate) fn t_chance(value: f64, freedom: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| 2.0 * t.sf(value.abs()))
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of a sample, not below that of [`LEAST_DEVIATION`].
pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).max(LEAST_DEVIATION.powi(2))
}
