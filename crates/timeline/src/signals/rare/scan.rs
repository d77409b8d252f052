//! Kulldorff's scan statistic in one dimension. It finds the stretch of time whose share of late requests is least likely
//! to be the share of the whole recording, and whether chance may have made it.

use std::ops::Range;

/// Requests of one second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Second {
    /// All that came.
    pub(super) all: f64,
    /// Instances of late ones.
    pub(super) late: u32,
}

/// Fewer late requests are no cluster.
const MIN_LATE: f64 = 8.0;

/// A shorter stretch is a hiccup, in seconds.
const MIN_SECONDS: usize = 5;

/// How often chance alone makes a cluster in a recording of any length.
const FALSE_ALARMS: f64 = 1e-4;

/// By how much the best of all stretches is more surprising than one that was named beforehand, apart from there being more short
/// ones than long ones. Late requests thrown by chance, 0.02 to 1 a second for 1 to 10 minutes, need that at most.
const CHOSEN: f64 = 3.0;

/// More late requests than this in one second say no more than as many: a hiccup of a second hits all who are there.
/// Where that makes a busy second look better than a quiet one, the shares that `find` compares are those of all late requests.
const MAX_OF_A_SECOND: u32 = 2;

/// More seconds than this are taken together, so that hours do not take minutes.
const MAX_STEPS: usize = 2_048;

/// A stretch of seconds that chance does not explain.
#[derive(Debug, PartialEq)]
pub(super) struct Cluster {
    /// Where it is.
    pub(super) seconds: Range<usize>,
    /// The logarithm of how much likelier it is with a share of its own, less that of how often its length fits into the whole.
    pub(super) surprise: f64,
}

/// The stretch of seconds with most late requests for its requests, if chance does not explain it though so many `questions` are asked.
/// It leaves at least a fifth of the requests outside, to compare with.
pub(super) fn cluster(seconds: &[Second], questions: usize) -> Option<Cluster> {
    let step = seconds.len().div_ceil(MAX_STEPS).max(1);
    let sums = sums(seconds, step);
    let (all, late) = *sums.last()?;
    if late < MIN_LATE {
        return None;
    }
    let mut best: Option<(f64, Range<usize>)> = None;
    for from in 0..sums.len() {
        for to in from + MIN_SECONDS.div_ceil(step)..sums.len() {
            let inside = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
            if inside.1 < MIN_LATE || inside.0 > 0.8 * all {
                continue;
            }
            // There are as many stretches of a length, apart from those that hardly differ, as it fits into the whole (Dümbgen and
            // Spokoiny's scale): a short one is more often surprising by chance.
            let surprise = surprise(inside, (all, late)) - (all / inside.0.max(1.0)).ln();
            if best.as_ref().is_none_or(|best| surprise > best.0) {
                best = Some((surprise, from..to));
            }
        }
    }
    let (surprise, steps) = best?;
    // One stretch is as surprising as `s` by chance with a probability below exp(-s) (Chernoff).
    let is_chance = surprise < (questions as f64 / FALSE_ALARMS).ln() + CHOSEN;
    let seconds = steps.start * step..(steps.end * step).min(seconds.len());
    (!is_chance).then_some(Cluster { seconds, surprise })
}

/// Requests and late ones before each step, and at the end.
fn sums(seconds: &[Second], step: usize) -> Vec<(f64, f64)> {
    let mut sum = (0.0, 0.0);
    let mut sums = vec![sum];
    for seconds in seconds.chunks(step) {
        seconds
            .iter()
            .for_each(|second| sum = (sum.0 + second.all, sum.1 + f64::from(second.late.min(MAX_OF_A_SECOND))));
        sums.push(sum);
    }
    sums
}

/// The logarithm of how much likelier the late requests are if those inside have a share of their own.
fn surprise(inside: (f64, f64), whole: (f64, f64)) -> f64 {
    let outside = (whole.0 - inside.0, whole.1 - inside.1);
    if inside.0 <= 0.0 || outside.0 <= 0.0 || inside.1 * outside.0 <= outside.1 * inside.0 {
        return 0.0;
    }
    let part = |(all, late): (f64, f64)| if late > 0.0 { late * (late * whole.0 / (all * whole.1)).ln() } else { 0.0 };
    part(inside) + part(outside)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::Second;

    fn cluster(seconds: &[Second]) -> Option<Range<usize>> {
        super::cluster(seconds, 1).map(|cluster| cluster.seconds)
    }

    fn seconds(late: impl Fn(usize) -> u32, len: usize) -> Vec<Second> {
        (0..len).map(|index| Second { all: 500.0, late: late(index) }).collect()
    }

    #[test]
    fn a_stretch_with_more_late_requests_is_found_with_its_ends() {
        let found = cluster(&seconds(|index| if (20..40).contains(&index) { 4 } else { 0 }, 60));
        assert_eq!(found, Some(20..40));
    }

    #[test]
    fn late_requests_now_and_then_are_no_cluster() {
        assert_eq!(cluster(&seconds(|index| u32::from(index % 3 == 0), 60)), None);
    }

    #[test]
    fn a_hiccup_is_no_cluster() {
        let hiccup = |index: usize| [27, 15, 7].get(index.wrapping_sub(30)).copied().unwrap_or(0);
        assert_eq!(cluster(&seconds(hiccup, 60)), None);
    }

    #[test]
    fn more_late_requests_of_more_requests_are_no_cluster() {
        let busier = |index: usize| if index < 30 { (200.0, 1) } else { (400.0, 2) };
        let seconds: Vec<Second> = (0..60).map(busier).map(|(all, late)| Second { all, late }).collect();
        assert_eq!(cluster(&seconds), None);
    }

    #[test]
    fn hours_are_looked_at_in_larger_steps() {
        let found = cluster(&seconds(|index| if (9_000..9_600).contains(&index) { 1 } else { 0 }, 20_000)).unwrap();
        assert!(found.start.abs_diff(9_000) <= 10 && found.end.abs_diff(9_600) <= 10, "{found:?}");
    }

    #[test]
    fn nothing_is_no_cluster() {
        assert_eq!(cluster(&[]), None);
        assert_eq!(cluster(&seconds(|_| 0, 60)), None);
    }
}
