//! Requests that wait for time to pass while no thread of theirs does: virtual threads that sleep, answers delayed by a
//! timer. The timer thread is woken by its clock once for each of them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use fathom_evidence::kinds::counter;
use fathom_timeline::ThreadState;

use super::Handling;
use crate::cause::Claim;
use crate::comparison::stem;
use crate::limits::MIN_SAMPLES;
use crate::{Comparison, Finding, Period, Support, format};

/// The call in which a thread waits until it is woken or its time is over, which is counted as a failure.
const TIMED: &str = "futex";

/// So many waits of the one who keeps time end by its clock for each late request. A request that sleeps has one; one that tries again has some.
const PER_REQUEST: RangeInclusive<f64> = 0.8..=4.0;

/// Before, there were at most so many for each request: who keeps time for something else goes on as it did.
const MOST_BEFORE: f64 = 0.2;

pub(super) fn decide(comparison: &Comparison<'_>, handling: &Handling<'_>) -> Option<Finding> {
    let baseline = comparison.baseline_here()?;
    let late = Late::of(comparison)?;
    let mut before = ran_out(baseline, handling);
    let rates = ran_out(&comparison.slow, handling).into_iter().map(|(name, now)| {
        let before = before.remove(name).unwrap_or(0.0);
        (name, now, before)
    });
    let (name, now, before) = rates.max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)))?;
    let per_request = (now - before) / late.per_second;
    if !PER_REQUEST.contains(&per_request) || before > MOST_BEFORE * late.per_second {
        return None;
    }
    let text = format!(
        "{name} was woken by its clock {} times a second (baseline {}), {} times for each late request: requests wait for time to pass, \
         and no thread of theirs is seen to wait",
        format::number(now),
        format::number(before),
        format::number(per_request)
    );
    let woken = comparison.evidence(&format!("{name} woken by its clock"), (now, Some(before)), "1/s", "counters");
    let mut finding = Finding::new(Support::Consistent, text).with(woken.of(&[counter::SYSTEM_CALLS_FAILED_COUNT]));
    finding.claims = Claim::parts_in_order(comparison, &[ThreadState::Unknown], late.by_ns);
    Some(finding)
}

/// Requests of the slow time that took longer than 99 of 100 do at other times.
struct Late {
    per_second: f64,
    /// By how much, summed up.
    by_ns: f64,
}

impl Late {
    fn of(comparison: &Comparison<'_>) -> Option<Late> {
        let usual_ns = comparison.usual_p99_ns()?;
        let slow = &comparison.slow;
        let requests = slow.sources.traffic.requests().filter(|one| slow.time.contains(one.from_ns));
        let late = requests.filter(|one| one.duration_ns() as f64 > usual_ns);
        let (count, by_ns) = late.fold((0.0, 0.0), |(count, by_ns), one| {
            (count + one.weight, by_ns + one.weight * (one.duration_ns() as f64 - usual_ns))
        });
        (count >= MIN_SAMPLES as f64).then(|| Late { per_second: count / slow.seconds(), by_ns })
    }
}

/// How often in a second of a period the waits of a thread, or of several with one name, ended because their time was over; but for
/// those that handle requests themselves.
fn ran_out<'c>(period: &Period<'c>, handling: &Handling<'_>) -> BTreeMap<&'c str, f64> {
    let recording = period.sources.recording;
    let mut found: BTreeMap<&str, f64> = BTreeMap::new();
    for ((call, tid), series) in period.sources.counters(counter::SYSTEM_CALLS_FAILED_COUNT) {
        let name = recording.threads.get(tid).map_or("", |thread| recording.text(thread.name));
        if recording.text(call) == TIMED && !name.is_empty() && !handling.is_by(tid) {
            *found.entry(stem(name).trim_end_matches(['-', '#', ' '])).or_default() +=
                period.rise(&series) / period.seconds();
        }
    }
    found
}
