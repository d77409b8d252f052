//! Percentiles of sorted times, and times as text.

use serde::Serialize;

/// What is said of many times, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Times {
    pub(super) p50_ns: i64,
    pub(super) p90_ns: i64,
    pub(super) p99_ns: i64,
    pub(super) p999_ns: i64,
    pub(super) max_ns: i64,
}

impl Times {
    pub(super) fn of(mut times: Vec<i64>) -> Times {
        times.sort_unstable();
        let at = |part| quantile(&times, part);
        Times { p50_ns: at(0.5), p90_ns: at(0.9), p99_ns: at(0.99), p999_ns: at(0.999), max_ns: at(1.0) }
    }
}

/// The least of the sorted times that this part does not exceed; 0 of none.
fn quantile(sorted: &[i64], part: f64) -> i64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

pub(super) fn ms(ns: i64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let times = Times::of((1..=1000).rev().collect());
        assert_eq!((times.p50_ns, times.p90_ns, times.p99_ns, times.p999_ns, times.max_ns), (500, 900, 990, 999, 1000));
        assert_eq!(Times::of(vec![7]), Times { p50_ns: 7, p90_ns: 7, p99_ns: 7, p999_ns: 7, max_ns: 7 });
        assert_eq!(Times::of(vec![]), Times::default());
    }
}
