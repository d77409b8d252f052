//! Sleeps where it is unknown which threads handle requests: not seen at their sockets, and no server is known to be there.
//! Threads that worked before without sleeping, and sleep now while requests are late, may be those that handle them. A
//! thread that polls a queue now and then has slept before as well.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::event;
use fathom_evidence::tables::Span;

use crate::comparison::stem;
use crate::measure::waits_below::{self, WaitsBelow};
use crate::measure::{growth, stacks};
use crate::period::Period;
use crate::{Comparison, Finding, Support};

/// The sleeps are at least this part of what requests are late.
pub(super) const MIN_SHARE_OF_LATE: f64 = 0.5;

/// One that slept before for this part of the time keeps time, or looks at a queue now and then.
const SLEPT_BEFORE: f64 = 0.05;

/// Events that tell that a thread ran.
const RAN: [&str; 2] = [event::CPU, event::EXECUTION];

pub(super) fn decide(comparison: &Comparison<'_>) -> Option<Finding> {
    // Mostly no thread sleeps, and looking at all samples takes long.
    if !comparison.is_slow() || of_workers(&comparison.slow, None).is_empty() {
        return None;
    }
    let workers = comparison.baseline_here().and_then(that_ran_awake);
    let (slow, before) = waits_below::both(comparison, |period| of_workers(period, workers.as_ref()));
    let longest = slow.longest()?;
    let threads = (slow.threads(), before.as_ref().map(WaitsBelow::threads));
    if !growth::grew(threads) || has_a_server(comparison) {
        return None;
    }
    let text = super::says(comparison, &slow, threads, "");
    let grown_ns =
        threads.1.filter(|_| workers.is_some()).map(|before| (threads.0 - before) * comparison.excess().slow_ns);
    if !grown_ns
        .zip(comparison.requests_late_ns())
        .is_some_and(|(grown_ns, late_ns)| grown_ns >= MIN_SHARE_OF_LATE * late_ns)
    {
        let says = format!("{text}; whether they handle requests was not recorded");
        return Some(Finding::unknown(&says, "fathom record as root, which sees requests at their sockets"));
    }
    let text = format!("{text}; they ran before and hardly slept, and requests are late by no more than that");
    let asleep = super::asleep(comparison, "threads asleep that ran before", threads, longest);
    let mut finding = Finding::new(Support::Consistent, text).with(asleep);
    finding.drill_down = super::drill_down(comparison, &slow);
    finding.claims = super::claims(comparison, threads);
    Some(finding)
}

/// Whether one of the servers was seen whose handlers are known by their stacks.
fn has_a_server(comparison: &Comparison<'_>) -> bool {
    let sources = comparison.sources();
    let mut is_below = stacks::are_below(comparison.recording(), super::SERVERS);
    let samples = [event::CPU, event::EXECUTION, event::WALL, event::WAIT].into_iter();
    samples.flat_map(|event| sources.samples(event)).any(|sample| is_below(sample.stack_id))
}

/// Threads of the application that were seen to run, and others of their kind, if they hardly slept; `None` if none was sampled.
pub(super) fn that_ran_awake(period: &Period<'_>) -> Option<BTreeSet<i64>> {
    let samples = RAN.into_iter().flat_map(|event| period.samples(event));
    let tids = samples.map(|sample| sample.tid).filter(|tid| period.sources.is_application(*tid));
    let recording = period.sources.recording;
    let kind = |tid: i64| recording.threads.get(tid).map_or("", |thread| stem(recording.text(thread.name)));
    let (ran, kinds): (BTreeSet<i64>, BTreeSet<&str>) = tids.map(|tid| (tid, kind(tid))).unzip();
    if ran.is_empty() {
        return None;
    }
    // Of workers that share little work few are sampled.
    let alike = recording.threads.iter().map(|(tid, _)| tid).filter(|tid| period.sources.is_application(*tid));
    let alike = alike.filter(|tid| !kind(*tid).is_empty() && kinds.contains(kind(*tid)));
    let ran: BTreeSet<i64> = ran.iter().copied().chain(alike).collect();
    let mut asleep_ns: BTreeMap<i64, f64> = BTreeMap::new();
    for sleep in of_workers(period, Some(&ran)).iter() {
        *asleep_ns.entry(sleep.tid).or_default() += sleep.duration_ns.max(0) as f64;
    }
    let hardly_slept = |tid: &i64| asleep_ns.get(tid).is_none_or(|ns| *ns < SLEPT_BEFORE * period.seconds() * 1e9);
    Some(ran.into_iter().filter(hardly_slept).collect())
}

/// Their sleeps in methods of the application. If it is unknown which threads ran: the sleeps of all its threads.
fn of_workers(period: &Period<'_>, workers: Option<&BTreeSet<i64>>) -> WaitsBelow {
    let recording = period.sources.recording;
    let mut is_sleep = super::are_sleeps(period);
    let is_worker = |tid: &i64| workers.is_none_or(|workers| workers.contains(tid));
    let is_own = |wait: &Span| super::sleeper(recording, wait.stack_id).is_some();
    WaitsBelow::asleep(period, |wait| is_worker(&wait.tid) && is_sleep(wait) && is_own(wait))
}
