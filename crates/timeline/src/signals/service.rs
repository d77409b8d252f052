//! How long threads of the application were at work, or waited, for each arrival of data: where requests share connections, how long
//! each of them took is unknown, but their number is.
//!
//! It grows as clients' latencies do when threads wait for one another, for services or for CPUs. It does not see what waits before
//! a thread begins with it, and it counts work that belongs to no request.

use std::ops::Range;

use fathom_evidence::kinds::counter;

use super::{Signal, SignalKind, Smoothed, forget_disturbed};
use crate::account::Account;
use crate::requests::quality::Flaw;
use crate::requests::{MANY_PER_SECOND, enough_around};
use crate::sources::{Series, Sources};
use crate::states::{ThreadState, Wait};

/// The signal, as a mean of each second and those around it, and the seconds by themselves; none where each request was measured by itself,
/// or arrivals were not counted, or are so few that they may be health checks.
pub(crate) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Smoothed> {
    let is_part_unknown = matches!(account.requests_flaw, Some(Flaw::Multiplexed(_)));
    if account.requests_as_work().is_some() && !is_part_unknown {
        return None;
    }
    let by_port = sources.counters(counter::DATA_ARRIVALS_COUNT);
    let (_, busiest) = by_port.iter().max_by(|(_, a), (_, b)| a.total_rise().total_cmp(&b.total_rise()))?;
    // Of connections that lived from one look to the next, each brought something.
    let not_met = sources.counter(counter::CONNECTIONS_NOT_MET_COUNT, "");
    let counted = [per_bucket(account, busiest), per_bucket(account, &not_met)];
    let arrivals: Vec<f64> = (0..account.grid.len).map(|index| counted[0][index] + counted[1][index]).collect();
    let (all, seconds) = (arrivals.iter().sum::<f64>(), arrivals.iter().filter(|count| **count > 0.0).count());
    if all < MANY_PER_SECOND * seconds as f64 {
        return None;
    }
    let at_work_ns = account.sum(is_at_work);
    let mean = |buckets: Range<usize>| {
        let count: f64 = arrivals[buckets.clone()].iter().sum();
        if count > 0.0 { at_work_ns[buckets].iter().sum::<f64>() / count } else { f64::NAN }
    };
    let around = |index: usize| enough_around(arrivals.len(), index, 1, |at| arrivals[at]);
    let smooth = (0..arrivals.len()).map(|index| mean(around(index))).collect();
    let mut signal = Signal::new(SignalKind::TimeInService, smooth);
    forget_disturbed(&mut signal.values, account);
    Some(Smoothed { signal, single: (0..arrivals.len()).map(|index| mean(index..index + 1)).collect() })
}

fn per_bucket(account: &Account, counted: &Series) -> Vec<f64> {
    let grid = account.grid;
    (0..grid.len).map(|index| counted.rise_within(grid.start_of(index), grid.start_of(index + 1))).collect()
}

/// What a thread does for somebody, as far as it is known.
fn is_at_work(state: ThreadState) -> bool {
    match state {
        ThreadState::Running(_) | ThreadState::Runnable | ThreadState::Stolen | ThreadState::Unsent(_) => true,
        ThreadState::Blocked(wait) => wait != Wait::Unnamed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use super::*;
    use crate::traffic::users::AT_SOCKETS;
    use crate::{Options, analyse};

    const MS: i64 = 1_000_000;

    /// A minute in which data comes 100 times a second to one connection of many requests. From second 20 on a thread waits for a lock,
    /// for so many ms of each 100.
    fn slow_from_s(waits_ms: i64, detail: &str) -> Option<i64> {
        let mut recording = Recording::default();
        for nth in 0..6_000 {
            recording.add_span(nth * 10 * MS, 2 * MS, 7, span::REQUEST, ":9092", detail, AT_SOCKETS);
        }
        for nth in 0..600 {
            recording.add_counter(nth * 100 * MS, counter::DATA_ARRIVALS_COUNT, ":9092", 10.0 * nth as f64, AT_SOCKETS);
            recording.add_span(nth * 100 * MS, 10 * MS, 8, span::MONITOR_ENTER, "shop.Cart", "", "jfr");
            if nth >= 200 {
                recording.add_span(nth * 100 * MS, waits_ms * MS, 9, span::MONITOR_ENTER, "shop.Cart", "", "jfr");
            }
        }
        let analysis = analyse(&recording, &Options::default()).unwrap();
        let (slowdown, _) = analysis.suspicion_of_service()?;
        Some(slowdown.intervals.first()?.from_ns / (1_000 * MS))
    }

    #[test]
    fn arrivals_that_cost_more_may_be_slow() {
        let shared = r#"{"port":9092,"overlapping":true}"#;
        assert_eq!(slow_from_s(30, shared), Some(20));
        assert_eq!(slow_from_s(2, shared), None, "a fifth more");
        assert_eq!(slow_from_s(30, r#"{"port":9092}"#), None, "each request was measured");
    }
}
