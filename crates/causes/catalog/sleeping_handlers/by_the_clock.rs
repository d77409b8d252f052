//! What samples of the wall clock show of sleeps that were not measured: for how much of the time threads slept.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;
use fathom_evidence::tables::Sample;
use fathom_timeline::BUCKET_NS;

use super::{Handling, of_anybody};
use crate::limits::MIN_SAMPLES;
use crate::measure::{growth, recording_threshold, sleeps, stacks};
use crate::period::Period;
use crate::{Comparison, Evidence, Finding, Support, format};

/// Sleeps of who handles requests, which their stacks or the requests tell; none where too few samples were in one.
pub(super) fn of_handlers(comparison: &Comparison<'_>, handling: &Handling<'_>) -> Option<Finding> {
    let of_these = |period: &Period<'_>| {
        let is_within = |sample: &Sample| {
            let looked_ns = (sample.time_ns, sample.time_ns.saturating_add(1));
            handling.within_ns(period, sample.tid, looked_ns) > 0
        };
        let recording = period.sources.recording;
        Asleep::of(period, |sample| super::is_handler(recording, sample.stack_id) || is_within(sample))
    };
    let slow = of_these(&comparison.slow);
    let baseline = comparison.baseline.as_ref().map(of_these);
    let are_chance = baseline
        .as_ref()
        .is_none_or(|before| growth::may_be_chance((slow.times, slow.seconds), (before.times, before.seconds)));
    (slow.samples >= MIN_SAMPLES || !are_chance).then(|| grown(comparison, &slow, baseline))
}

/// Sleeps of others that may handle them.
pub(super) fn of_others(comparison: &Comparison<'_>) -> Finding {
    of_workers(comparison).unwrap_or_else(|| {
        recording_threshold::of_waits(comparison, &["jdk.ThreadSleep"], "sleeps of who handles requests")
    })
}

fn grown(comparison: &Comparison<'_>, slow: &Asleep, baseline: Option<Asleep>) -> Finding {
    let Some(baseline) = baseline else {
        let says = "threads sleep while they handle requests; whether they always do was not recorded";
        return Finding::unknown(says, "fathom explain … --baseline RECORDING");
    };
    let threads = (slow.threads, Some(baseline.threads));
    let (text, asleep) = slow.says(comparison, threads, " while they handle requests");
    if !growth::grew(threads) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(asleep);
    }
    let mut finding = Finding::new(Support::Observed, text).with(asleep);
    finding.claims = super::claims(comparison, threads);
    finding
}

/// Sleeps of workers that no server's frames are below: those that ran before and hardly slept, and sleep now for as long as requests
/// are late.
fn of_workers(comparison: &Comparison<'_>) -> Option<Finding> {
    let baseline = comparison.baseline.as_ref()?;
    let workers = of_anybody::that_ran_awake(baseline)?;
    let is_own = |sample: &Sample| super::sleeper(comparison.recording(), sample.stack_id).is_some();
    let of_these = |period| Asleep::of(period, |sample| workers.contains(&sample.tid) && is_own(sample));
    let (slow, before) = (of_these(&comparison.slow), of_these(baseline));
    let grown_ns = (slow.threads - before.threads) * comparison.excess().slow_ns;
    let are_chance = growth::may_be_chance((slow.times, slow.seconds), (before.times, before.seconds));
    let is_enough = |late_ns: f64| grown_ns > 0.0 && grown_ns >= of_anybody::MIN_SHARE_OF_LATE * late_ns;
    if slow.samples < MIN_SAMPLES || are_chance || !comparison.requests_late_ns().is_some_and(is_enough) {
        return None;
    }
    let threads = (slow.threads, Some(before.threads));
    let (text, asleep) = slow.says(comparison, threads, "");
    let text = format!("{text}; they ran before and hardly slept, and requests are late by no more than that");
    let mut finding = Finding::new(Support::Consistent, text).with(asleep);
    finding.claims = super::claims(comparison, threads);
    Some(finding)
}

/// Samples in which a thread that handles a request slept.
struct Asleep {
    samples: usize,
    /// How often a thread was seen so: samples of one thread in one second may be of one sleep.
    times: f64,
    seconds: f64,
    /// How many slept on average.
    threads: f64,
    /// By stack, in ns.
    weights: BTreeMap<StackId, f64>,
}

impl Asleep {
    fn of(period: &Period<'_>, is_one: impl Fn(&Sample) -> bool) -> Asleep {
        let mut is_asleep = stacks::are_below(period.sources.recording, sleeps::SLEEP);
        let mut is_ours = |sample: &Sample| is_asleep(sample.stack_id) && is_one(sample);
        let (mut samples, mut times, mut weights) = (0, BTreeSet::new(), BTreeMap::new());
        for sample in period.samples(event::WALL).filter(|sample| is_ours(sample)) {
            samples += 1;
            times.insert((sample.tid, sample.time_ns / BUCKET_NS));
            *weights.entry(sample.stack_id).or_default() += sample.weight_ns.max(0) as f64;
        }
        let seconds = period.seconds();
        let threads = (0.0 + weights.values().sum::<f64>()) / 1e9 / seconds;
        Asleep { samples, times: times.len() as f64, seconds, threads, weights }
    }

    fn says(&self, comparison: &Comparison<'_>, threads: (f64, Option<f64>), when: &str) -> (String, Evidence) {
        let most = stacks::most_seen(&self.weights);
        let asleep = comparison.evidence(&format!("threads asleep{when}"), threads, "threads", "samples");
        let text = format!(
            "{} threads sleep on average{when}{}, most of it in {} (samples of the wall clock)",
            format::number(self.threads),
            format::baseline(threads.1, format::number),
            super::sleeper(comparison.recording(), most).unwrap_or("code without a name"),
        );
        (text, Evidence { stack: comparison.wait_text(most, 12), ..asleep.of(&[event::WALL]) })
    }
}
