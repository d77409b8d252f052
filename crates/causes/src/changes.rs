//! What changed within a recording: a lasting step in something that was measured second by second.
//!
//! Pettitt's test finds the second at which later values differ most in rank from earlier ones, whatever the distribution.
//! It gives the chance of so large a difference in a series without a change. At the level used here, with some twenty
//! series, one recording in a hundred reports a false change.

use std::collections::BTreeMap;

use fathom_evidence::StackId;
use fathom_evidence::kinds::counter;
use fathom_timeline::{BUCKET_NS, Requests, ThreadState, ranks};

use crate::comparison::Comparison;
use crate::explanation::Change;

/// Chance of a change of this size where nothing changed.
const CHANCE: f64 = 0.0005;

/// A change of less than this part of the mean before is not worth telling.
const MIN_RELATIVE_CHANGE: f64 = 0.3;

/// The maximum number of reported changes.
const MAX_CHANGES: usize = 5;

/// A series with what it is.
struct Measured {
    says: String,
    unit: &'static str,
    /// Of each second; no number where it is not known.
    values: Vec<f64>,
    /// Less than this is next to nothing.
    least: f64,
    /// Which kind of time it is.
    state: Option<ThreadState>,
}

/// The largest changes; none where the answer is a cause of what was slow.
pub(crate) fn of(comparison: &Comparison<'_>, is_cause_named: bool) -> Vec<Change> {
    if comparison.is_slow() && is_cause_named {
        return Vec::new();
    }
    let skip = comparison.analysis.account.startup.warm_up_buckets;
    let mut changes: Vec<(f64, Change)> =
        series(comparison).iter().filter_map(|measured| change(comparison, measured, skip)).collect();
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    changes.into_iter().take(MAX_CHANGES).map(|(_, change)| change).collect()
}

fn series(comparison: &Comparison<'_>) -> Vec<Measured> {
    let account = &comparison.analysis.account;
    let of_state = |(state, row): (&ThreadState, &Vec<f64>)| Measured {
        says: state.to_string(),
        unit: if matches!(state, ThreadState::Blocked(_) | ThreadState::Runnable | ThreadState::Stopped(_)) {
            "threads"
        } else {
            "cores"
        },
        values: row.iter().map(|ns| ns / BUCKET_NS as f64).collect(),
        least: 0.02,
        state: Some(*state),
    };
    let mut series: Vec<Measured> = account.states.iter().map(of_state).collect();
    if let Some(requests) = &account.requests {
        series.push(latency(requests));
        let count = requests.count.clone();
        series.push(Measured { says: "requests".to_owned(), unit: "1/s", values: count, least: 1.0, state: None });
    }
    series.extend(COUNTED.iter().filter_map(|(name, says)| counted(comparison, name, says)));
    series
}

/// What a process has ever more of when it gives nothing back.
const COUNTED: [(&str, &str); 2] =
    [(counter::PROCESS_THREADS_COUNT, "threads of the process"), (counter::OPEN_FILES_COUNT, "open files")];

/// A number that was read now and then, as it was in each second.
fn counted(comparison: &Comparison<'_>, name: &str, says: &str) -> Option<Measured> {
    /// Fewer come and go with every burst.
    const MIN_COUNT: f64 = 20.0;
    let (series, grid) = (comparison.sources().counter(name, ""), comparison.sources().grid);
    let mut last = series.0.first()?.1;
    let values = (0..grid.len).map(|second| {
        last = series.max_within(grid.start_of(second), grid.start_of(second + 1)).unwrap_or(last);
        last
    });
    Some(Measured { says: says.to_owned(), unit: "count", values: values.collect(), least: MIN_COUNT, state: None })
}

fn latency(requests: &Requests) -> Measured {
    Measured {
        says: "median latency of requests".to_owned(),
        unit: "ns",
        values: requests.p50_ns.iter().map(|p50| p50.unwrap_or(f64::NAN)).collect(),
        least: 1e5,
        state: None,
    }
}

/// A change after the first `skip` seconds; those in which Fathom itself disturbed the process are neither before nor after.
fn change(comparison: &Comparison<'_>, measured: &Measured, skip: usize) -> Option<(f64, Change)> {
    let disturbed = &comparison.analysis.account.disturbed;
    let counts = |(second, value): &(usize, f64)| !disturbed[*second] && !value.is_nan();
    let (seconds, values): (Vec<usize>, Vec<f64>) =
        measured.values.iter().copied().enumerate().skip(skip).filter(counts).unzip();
    let (at, chance) = step(&values).filter(|(_, chance)| *chance <= CHANCE)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (before, after) = (mean(&values[..at]), mean(&values[at..]));
    let size = (after - before).abs() / before.max(after).max(f64::MIN_POSITIVE);
    let is_worth_it = (after - before).abs() >= measured.least && size >= MIN_RELATIVE_CHANGE;
    is_worth_it.then(|| {
        let at_ns = comparison.sources().grid.start_of(seconds[at]);
        let (says, unit) = (measured.says.clone(), measured.unit.to_owned());
        let stack = measured.state.map_or_else(String::new, |state| waiting_stack(comparison, state, at_ns));
        (size, Change { says, at_ns, before, after, unit, stack, chance })
    })
}

/// The stack below which threads waited most from some time on.
fn waiting_stack(comparison: &Comparison<'_>, state: ThreadState, from_ns: i64) -> String {
    let mut sums: BTreeMap<StackId, i64> = BTreeMap::new();
    let waits = comparison.slow_waits().filter(|(_, segment, _)| segment.state == state && segment.from_ns >= from_ns);
    for (_, segment, _) in waits {
        let stack = segment.row.map_or(StackId(0), |row| comparison.recording().spans.stack_id[row as usize]);
        *sums.entry(stack).or_default() += segment.length_ns();
    }
    let most = sums.into_iter().max_by_key(|(_, ns)| *ns);
    most.map_or_else(String::new, |(stack, _)| comparison.wait_text(stack, 12))
}

/// Where a series changes most, and the chance of that where nothing changed.
fn step(values: &[f64]) -> Option<(usize, f64)> {
    const MIN_VALUES: usize = 10;
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let ranks = ranks(values);
    let mut sum = 0.0;
    let mut best = (0, 0.0_f64);
    for (index, rank) in ranks.iter().enumerate().take(n - 1) {
        sum += rank;
        let statistic = (2.0 * sum - (index + 1) as f64 * (n + 1) as f64).abs();
        if statistic > best.1 {
            best = (index + 1, statistic);
        }
    }
    let n = n as f64;
    let chance = (2.0 * (-6.0 * best.1 * best.1 / (n.powi(3) + n.powi(2))).exp()).min(1.0);
    (best.0 > 0).then_some((best.0, chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        let noisy = |index: usize| (index * 7919 % 100) as f64 / 100.0;
        let steady: Vec<f64> = (0..60).map(noisy).collect();
        assert!(step(&steady).unwrap().1 > CHANCE);
        let stepped: Vec<f64> = (0..60).map(|index| noisy(index) + if index < 25 { 0.0 } else { 2.0 }).collect();
        let (at, chance) = step(&stepped).unwrap();
        assert!(at == 25 && chance < CHANCE, "at {at} with {chance}");
        assert!(step(&[1.0; 5]).is_none());
        assert!(step(&[1.0; 50]).is_none());
    }
}
