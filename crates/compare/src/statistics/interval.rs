//! The confidence interval of one side.

use serde::Serialize;

use super::{FALSE_ALARMS, mean, t_quantile, variance};

/// The typical value of some runs, and between which values it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The geometric mean of the runs.
    pub value: f64,
    /// 95 % confidence interval over runs; none for a single run.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

impl Interval {
    /// From the logarithms of one number of each run.
    pub fn of(logarithms: &[f64]) -> Option<Interval> {
        let count = logarithms.len();
        if count == 0 {
            return None;
        }
        let middle = mean(logarithms);
        let quantile = t_quantile(1.0 - FALSE_ALARMS / 2.0, count as f64 - 1.0);
        let half =
            quantile.filter(|_| count > 1).map(|quantile| quantile * (variance(logarithms) / count as f64).sqrt());
        let at = |sign: f64| half.map(|half| (middle + sign * half).exp());
        Some(Interval { value: middle.exp(), low: at(-1.0), high: at(1.0) })
    }
}
