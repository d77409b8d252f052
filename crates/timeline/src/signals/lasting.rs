//! Requests that take longer for many seconds, by less than counts in one second. Single seconds vary as much, so each
//! proves nothing. A stretch of seconds that are above nearly all others does.
//!
//! The stretch is the one whose seconds rank highest against the others (Mann and Whitney's statistic). Neighbouring seconds
//! are alike, so chance is not computed from ranks: the two sides must hardly overlap, and differ by what users may notice.

use std::ops::Range;

use super::latency::JITTER_P99_NS;
use super::rows::UNNOTICED_NS;
use super::{Signal, SignalKind};
use crate::median::{median, ranks};

/// A shorter stretch is a burst of a few milliseconds, in seconds; and fewer others do not tell what is usual.
const MIN_SECONDS: usize = 10;

/// So many seconds before the stretch are usual: a latency that was high from the first second on may be a start.
const MIN_BEFORE: usize = 5;

/// How many times as long requests take, at the middle: what a change of a release is taken back for.
const MIN_RATIO: f64 = 4.0 / 3.0;

/// The limit is not further below the stretch than this, where the others are at nothing.
const FAR: f64 = 4.0;

/// One in so many seconds may lie on the other side of the limit.
const STRAYS: usize = 10;

/// More stretches than from each of so many seconds to each other are not compared: an hour, and then each second one.
const MAX_STEPS: usize = 2_000;

/// The seconds in which requests took longer, and the limit between the two sides.
pub(crate) fn find(signal: &Signal, from_bucket: usize) -> Option<(Vec<bool>, f64)> {
    let least_ns = match signal.kind {
        SignalKind::RequestLatency => JITTER_P99_NS,
        SignalKind::MedianLatency | SignalKind::MeanLatency | SignalKind::TimeInService => UNNOTICED_NS,
        _ => return None,
    };
    let known = signal.values.iter().copied().enumerate().skip(from_bucket).filter(|(_, value)| value.is_finite());
    let (seconds, values): (Vec<usize>, Vec<f64>) = known.unzip();
    let stretch = highest(&ranks(&values))?;
    let limit_ns = apart(&values, &stretch, least_ns)?;
    let stretch = with_neighbours(&values, stretch, limit_ns);
    let mut slow = vec![false; signal.values.len()];
    slow[seconds[stretch.start]..=seconds[stretch.end - 1]].fill(true);
    Some((slow, limit_ns))
}

/// The stretch whose ranks are highest for its length.
fn highest(ranks: &[f64]) -> Option<Range<usize>> {
    let all = ranks.len() as f64;
    let step = ranks.len().div_ceil(MAX_STEPS).max(1);
    let mut sums = vec![0.0];
    ranks.iter().for_each(|rank| sums.push(sums[sums.len() - 1] + rank - all.midpoint(1.0)));
    let ends = |from: usize| (from + MIN_SECONDS..=ranks.len()).step_by(step);
    let stretches = (MIN_BEFORE..ranks.len()).step_by(step).flat_map(|from| ends(from).map(move |to| from..to));
    let height = |stretch: &Range<usize>| {
        let length = stretch.len() as f64;
        (sums[stretch.end] - sums[stretch.start]) / (length * (all - length)).sqrt()
    };
    let leaves_enough = stretches.filter(|stretch| ranks.len() - stretch.len() >= MIN_SECONDS);
    leaves_enough.max_by(|a, b| height(a).total_cmp(&height(b)))
}

/// The stretch and the seconds at its ends that are above the limit as well: where most is slow, their ranks are in the middle.
fn with_neighbours(values: &[f64], stretch: Range<usize>, limit_ns: f64) -> Range<usize> {
    let above = |value: &&f64| **value >= limit_ns;
    let before = values[..stretch.start].iter().rev().take_while(above).count();
    let after = values[stretch.end..].iter().take_while(above).count();
    stretch.start - before..stretch.end + after
}

/// The limit between a stretch and the others, where they hardly overlap and are far enough apart. The seconds at its ends are partly both.
fn apart(values: &[f64], stretch: &Range<usize>, least_ns: f64) -> Option<f64> {
    let inside = &values[stretch.start + 1..stretch.end - 1];
    let outside = [&values[..stretch.start - 1], values.get(stretch.end + 1..).unwrap_or_default()].concat();
    let (high_ns, usual_ns) = (median(inside.to_vec())?, median(outside.clone())?);
    let limit_ns = (high_ns * usual_ns).sqrt().max(high_ns / FAR);
    let are_few = |of: &[f64], is_stray: &dyn Fn(f64) -> bool| {
        of.iter().filter(|value| is_stray(**value)).count() * STRAYS <= of.len()
    };
    let are_apart = are_few(inside, &|ns| ns < limit_ns) && are_few(&outside, &|ns| ns >= limit_ns);
    (are_apart && high_ns >= least_ns.max(MIN_RATIO * usual_ns)).then_some(limit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// A minute of medians that vary by a tenth, higher by a factor from one second to another.
    fn slow_seconds(factor: f64, from: usize, to: usize) -> Option<Range<usize>> {
        let noisy = |index: usize| 1.0 + (index * 7919 % 100) as f64 / 1000.0;
        let value = |index: usize| 2.0 * MS * noisy(index) * if (from..to).contains(&index) { factor } else { 1.0 };
        let signal = Signal::new(SignalKind::MedianLatency, (0..60).map(value).collect());
        let (slow, _) = find(&signal, 0)?;
        let first = slow.iter().position(|is| *is)?;
        Some(first..first + slow.iter().filter(|is| **is).count())
    }

    #[test]
    fn a_stretch_that_stands_above_all_others_is_found() {
        assert_eq!(slow_seconds(1.5, 20, 37), Some(20..37));
        assert_eq!(slow_seconds(1.5, 40, 60), Some(40..60));
    }

    #[test]
    fn what_is_small_or_short_or_there_from_the_start_is_none() {
        assert_eq!(slow_seconds(1.0, 20, 37), None, "noise alone");
        assert_eq!(slow_seconds(1.2, 20, 37), None, "a fifth");
        assert_eq!(slow_seconds(1.5, 20, 26), None, "six seconds");
        assert_eq!(slow_seconds(1.5, 0, 30), None, "it may be the start");
    }
}
