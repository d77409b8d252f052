//! The difference of two sides: Welch's t of the runs' logarithms, or Student's t of pairs.
//!
//! Blocks need a second test. A drift moves the means of blocks apart, but the step between the last run of one block and the first of
//! the other only as much as any two runs in a row. So in blocks the sides differ only if their means do *and* that step is
//! larger than the steps within the sides. Simulated runs that drift are called different in 2 to 4 % that way, in 30 to 60 %
//! by Welch's test alone.

use serde::Serialize;

use super::order::{Order, sequence};
use super::{FALSE_ALARMS, POWER, mean, t_chance, t_quantile, variance};

/// What is known of a difference. All of it is logarithms; [`Difference::change`] makes ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The second side less the first.
    pub estimate: f64,
    error: f64,
    freedom: f64,
    step: Option<Step>,
}

/// The step from one block to the other, and how large steps are within them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    estimate: f64,
    usual: f64,
    freedom: f64,
}

/// A change by a factor, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The second side divided by the first, less 1: 0.1 is 10 % more.
    pub by: f64,
    /// Lower end of the 95 % confidence interval over runs.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Compares one number of each run. `None` when a side has fewer than two runs: how much runs differ is not known then.
pub fn compare(a: &[f64], b: &[f64], order: &Order, times: [&[i64]; 2]) -> Option<Difference> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    match order {
        Order::Pairs(pairs) => Some(paired(a, b, pairs)),
        Order::Blocks => Some(Difference { step: step(a, b, times), ..welch(a, b) }),
        Order::Mixed => Some(welch(a, b)),
    }
}

fn welch(a: &[f64], b: &[f64]) -> Difference {
    let part = |side: &[f64]| variance(side) / side.len() as f64;
    let (of_a, of_b) = (part(a), part(b));
    let share = |part: f64, side: &[f64]| part.powi(2) / (side.len() as f64 - 1.0);
    let freedom = (of_a + of_b).powi(2) / (share(of_a, a) + share(of_b, b));
    Difference { estimate: mean(b) - mean(a), error: (of_a + of_b).sqrt(), freedom, step: None }
}

fn paired(a: &[f64], b: &[f64], pairs: &[(usize, usize)]) -> Difference {
    let differences: Vec<f64> = pairs.iter().map(|(of_a, of_b)| b[*of_b] - a[*of_a]).collect();
    let count = differences.len() as f64;
    let error = (variance(&differences) / count).sqrt();
    Difference { estimate: mean(&differences), error, freedom: count - 1.0, step: None }
}

/// The steps from each run to the next: those between the sides against those within. Neighbouring steps share a run, so they are
/// worth two thirds of their number (the degrees of freedom of a mean square of differences).
fn step(a: &[f64], b: &[f64], times: [&[i64]; 2]) -> Option<Step> {
    const WORTH: f64 = 2.0 / 3.0;
    let runs = sequence(times[0], times[1]);
    let value = |(side, index): (bool, usize)| if side { b[index] } else { a[index] };
    let steps = || runs.windows(2).map(|two| (two[0].0, two[1].0, value(two[1]) - value(two[0])));
    let between: Vec<f64> = steps().filter(|(x, y, _)| x != y).map(|(x, _, by)| if x { -by } else { by }).collect();
    let within: Vec<f64> = steps().filter(|(x, y, _)| x == y).map(|(_, _, by)| by * by).collect();
    let usual = mean(&within).sqrt().max(super::LEAST_DEVIATION * std::f64::consts::SQRT_2);
    let is_known = !within.is_empty() && !between.is_empty();
    is_known.then(|| Step { estimate: mean(&between), usual, freedom: within.len() as f64 * WORTH })
}

impl Difference {
    /// How likely so large a difference is when there is none.
    pub fn chance(&self) -> Option<f64> {
        t_chance(self.estimate / self.error, self.freedom)
    }

    /// Whether a drift of the size that runs in a row show could have made the difference. Only blocks have that question.
    pub fn may_be_drift(&self) -> bool {
        self.step.is_some_and(|step| {
            let chance = t_chance(step.estimate / step.usual, step.freedom).unwrap_or(1.0);
            chance > FALSE_ALARMS || step.estimate.signum() != self.estimate.signum()
        })
    }

    /// The change with its confidence interval.
    pub fn change(&self) -> Option<Change> {
        let half = self.error * t_quantile(1.0 - FALSE_ALARMS / 2.0, self.freedom)?;
        let by = |logarithm: f64| logarithm.exp_m1();
        Some(Change { by: by(self.estimate), low: by(self.estimate - half), high: by(self.estimate + half) })
    }

    /// The smallest increase that would have been found in [`POWER`] of such comparisons, by a test at `level`: 0.1 is 10 %.
    pub fn found_from(&self, level: f64) -> Option<f64> {
        let needed = |error: f64, freedom: f64, level: f64| {
            Some(error * (t_quantile(1.0 - level / 2.0, freedom)? + t_quantile(POWER, freedom)?))
        };
        let by_means = needed(self.error, self.freedom, level)?;
        let by_step = match self.step {
            Some(step) => needed(step.usual, step.freedom, FALSE_ALARMS)?,
            None => 0.0,
        };
        Some(by_means.max(by_step).exp_m1())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 0.0005
    }

    #[test]
    fn figures_of_other_programs() {
        // scipy.stats.ttest_ind(equal_var=False) of the same: t = 2.8050, df = 4.0983, p = 0.0472.
        let (a, b) = ([2.1, 2.4, 1.9, 2.6], [1.2, 1.9, 1.5]);
        let mixed = compare(&a, &b, &Order::Mixed, [&[], &[]]).unwrap();
        assert!(near(mixed.estimate, -0.716_667), "{mixed:?}");
        assert!(mixed.chance().is_some_and(|chance| near(chance, 0.0472)), "{:?}", mixed.chance());
        // Student's t of the differences 0.1, 0.3, 0.2: t = 3.4641, df = 2, p = 0.0742.
        let pairs = Order::Pairs(vec![(0, 0), (1, 1), (2, 2)]);
        let paired = compare(&[1.0, 1.0, 1.0], &[1.1, 1.3, 1.2], &pairs, [&[], &[]]).unwrap();
        assert!(paired.chance().is_some_and(|chance| near(chance, 0.0742)), "{:?}", paired.chance());
    }

    #[test]
    fn a_single_run_tells_nothing() {
        assert_eq!(compare(&[1.0], &[2.0, 2.1], &Order::Mixed, [&[], &[]]), None);
    }

    #[test]
    fn equal_numbers_are_rounded_ones() {
        let times: [&[i64]; 2] = [&[0, 1, 2], &[3, 4, 5]];
        let of = |by: f64| compare(&[1.0; 3], &[1.0 + by; 3], &Order::Blocks, times).unwrap();
        assert!(of(0.0).chance().is_some_and(|chance| chance > 0.99));
        assert!(of(0.5).chance().is_some_and(|chance| chance < 0.001));
        assert!(!of(0.5).may_be_drift());
        assert!(
            of(0.0).found_from(0.05).is_some_and(|from| from > 0.01 && from < 0.1),
            "{:?}",
            of(0.0).found_from(0.05)
        );
    }

    #[test]
    fn a_steady_drift_is_no_difference() {
        let times: [&[i64]; 2] = [&[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9]];
        let a = [0.0, 0.031, 0.058, 0.092, 0.118];
        let b = [0.151, 0.179, 0.212, 0.24, 0.27];
        let drifting = compare(&a, &b, &Order::Blocks, times).unwrap();
        assert!(drifting.chance().is_some_and(|chance| chance < 0.01));
        assert!(drifting.may_be_drift());
    }
}
