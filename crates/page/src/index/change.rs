//! How each line and kind of span in the slow time differs from its baseline, so that the largest changes are offered first.

use fathom_evidence::Recording;
use serde::Serialize;

use super::lane::{Lane, Points};
use super::spans::{Kind, Spans, duration};
use crate::axis::{Axis, Range};

/// The mean of a line in both times, and how much of a change that is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Change {
    pub(crate) baseline: f64,
    pub(crate) slow: f64,
    /// From 0 to 1: how far both are apart, as a part of their sum; of a line times the part of the slow time in which it
    /// was out of the range of its baseline, so that what once happened by chance stands below what went on; of spans less
    /// where there were few at once.
    pub(crate) size: f64,
}

/// The changes of all lanes, by line, and of all kinds of spans.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) lanes: Vec<Vec<Option<Change>>>,
    pub(crate) spans: Vec<Option<Change>>,
}

/// When it was slow, and what that is compared with; nothing changed where either is missing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times<'t> {
    pub(crate) slow: &'t [Range],
    pub(crate) baseline: &'t [Range],
}

impl Changes {
    pub(crate) fn new(recording: &Recording, axis: &Axis, times: Times<'_>, lanes: &[Lane], spans: &Spans) -> Changes {
        let of_lane = |lane: &Lane| lane.instances.iter().map(|line| of_line(&line.points, axis.to, times)).collect();
        Changes {
            lanes: lanes.iter().map(of_lane).collect(),
            spans: spans.kinds.iter().map(|kind| of_spans(recording, axis, kind, times)).collect(),
        }
    }
}

/// If this many spans exist at once, the change counts half; with fewer it counts less. A hundredth of a thread's time
/// has no noticeable effect, however much it has grown.
const FEW_AT_ONCE: f64 = 0.01;

/// Beginning, end and value.
type Step = (i64, i64, f64);

fn of_line(points: &Points, end: i64, times: Times<'_>) -> Option<Change> {
    let steps = steps(points, end);
    let (slow, baseline) = (within(&steps, times.slow), within(&steps, times.baseline));
    let (lowest, highest) = baseline
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), step| (low.min(step.2), high.max(step.2)));
    let unusual = slow.iter().filter(|step| !(lowest..=highest).contains(&step.2));
    let unusual_ns: i64 = unusual.map(|(from, to, _)| to - from).sum();
    let part = unusual_ns as f64 / length(slow.iter().map(|(from, to, _)| (*from, *to))).max(1) as f64;
    change(mean(&baseline)?, mean(&slow)?, part)
}

/// Time in spans of the kind, as how many there were at once.
fn of_spans(recording: &Recording, axis: &Axis, kind: &Kind, times: Times<'_>) -> Option<Change> {
    let at_once = |ranges: &[Range]| {
        let inside = |(from, to): &Range| -> i64 {
            let rows = kind.within(recording, axis, *from, *to);
            rows.map(|row| overlap(begin_and_end(recording, axis, row), (*from, *to))).fold(0, i64::saturating_add)
        };
        let all = length(ranges.iter().copied());
        (all > 0).then(|| ranges.iter().map(inside).fold(0, i64::saturating_add) as f64 / all as f64)
    };
    let (baseline, slow) = (at_once(times.baseline)?, at_once(times.slow)?);
    let most = baseline.max(slow);
    change(baseline, slow, most / (most + FEW_AT_ONCE))
}

fn begin_and_end(recording: &Recording, axis: &Axis, row: u32) -> Range {
    let begin = axis.at(recording.spans.time_ns[row as usize]);
    (begin, begin.saturating_add(duration(recording, row)))
}

fn change(baseline: f64, slow: f64, part: f64) -> Option<Change> {
    let sum = baseline.abs() + slow.abs();
    let size = if sum > 0.0 { (slow - baseline).abs() / sum * part } else { 0.0 };
    size.is_finite().then_some(Change { baseline, slow, size })
}

/// The stretches over which values hold: a level until the next one.
fn steps(points: &Points, end: i64) -> Vec<Step> {
    match points {
        Points::Steps(steps) => steps.clone(),
        Points::Levels(levels) => {
            let ends = levels.iter().skip(1).map(|level| level.0).chain([end]);
            levels.iter().zip(ends).map(|((from, value), to)| (*from, to, *value)).collect()
        }
    }
}

/// What of the steps lies in some ranges.
fn within(steps: &[Step], ranges: &[Range]) -> Vec<Step> {
    let mut found = Vec::new();
    for (from, to) in ranges {
        let first = steps.partition_point(|step| step.1 <= *from);
        let cut = steps[first..].iter().take_while(|step| step.0 < *to);
        found.extend(cut.map(|step| (step.0.max(*from), step.1.min(*to), step.2)));
    }
    found
}

fn mean(steps: &[Step]) -> Option<f64> {
    let all = length(steps.iter().map(|(from, to, _)| (*from, *to)));
    let sum: f64 = steps.iter().map(|(from, to, value)| (to - from) as f64 * value).sum();
    (all > 0).then(|| sum / all as f64)
}

fn length(ranges: impl Iterator<Item = Range>) -> i64 {
    ranges.map(|(from, to)| to.saturating_sub(from)).fold(0, i64::saturating_add)
}

fn overlap(a: Range, b: Range) -> i64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times<'_> = Times { slow: &[(100, 200)], baseline: &[(0, 50), (50, 100)] };

    fn of_levels(levels: &[(i64, f64)]) -> Option<Change> {
        of_line(&Points::Levels(levels.to_vec()), 200, TIMES)
    }

    #[test]
    fn what_went_on_is_more_of_a_change_than_what_happened_once() {
        let steady = of_levels(&[(0, 1.0), (100, 3.0)]).unwrap();
        assert_eq!(steady, Change { baseline: 1.0, slow: 3.0, size: 0.5 });
        let once = of_levels(&[(0, 1.0), (100, 1.0), (110, 21.0), (120, 1.0)]).unwrap();
        assert_eq!((once.baseline, once.slow), (1.0, 3.0));
        assert!((once.size - 0.05).abs() < 1e-9, "{once:?}");
    }

    #[test]
    fn nothing_is_said_of_what_one_of_both_times_does_not_know() {
        assert_eq!(of_levels(&[]), None);
        assert_eq!(of_levels(&[(100, 3.0)]), None);
        assert_eq!(of_levels(&[(0, 0.0)]).map(|change| change.size), Some(0.0));
        let steps = Points::Steps(vec![(0, 100, 2.0), (150, 200, 2.0)]);
        assert_eq!(of_line(&steps, 200, TIMES).map(|change| change.size), Some(0.0));
        assert_eq!(of_line(&steps, 200, Times { slow: &[(0, 200)], baseline: &[] }), None);
    }
}
