//! What samples of the wall clock tell of sleeps that nobody measured: for how much of the time threads slept.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;
use fathom_timeline::BUCKET_NS;

use crate::limits::MIN_SAMPLES;
use crate::measure::{growth, recording_threshold, sleeps, stacks};
use crate::period::Period;
use crate::{Comparison, Evidence, Finding, Support, format};

pub(super) fn decide(comparison: &Comparison<'_>) -> Finding {
    let slow = Asleep::of(&comparison.slow);
    let baseline = comparison.baseline.as_ref().map(Asleep::of);
    let are_chance = baseline
        .as_ref()
        .is_none_or(|before| growth::may_be_chance((slow.times, slow.seconds), (before.times, before.seconds)));
    if slow.samples < MIN_SAMPLES && are_chance {
        return recording_threshold::of_waits(comparison, &["jdk.ThreadSleep"], "sleeps of who handles requests");
    }
    let Some(baseline) = baseline else {
        let says = "threads sleep while they handle requests; whether they always do was not recorded";
        return Finding::unknown(says, "fathom explain … --baseline RECORDING");
    };
    let threads = (slow.threads, Some(baseline.threads));
    let most = stacks::most_seen(&slow.weights);
    let asleep = comparison.evidence("threads asleep while they handle requests", threads, "threads", "samples");
    let asleep = Evidence { stack: comparison.wait_text(most, 12), ..asleep.of(&[event::WALL]) };
    let text = format!(
        "{} threads sleep on average while they handle requests{}, most of it in {} (samples of the wall clock)",
        format::number(slow.threads),
        format::baseline(threads.1, format::number),
        super::sleeper(comparison.recording(), most).unwrap_or("code without a name"),
    );
    if !growth::grew(threads) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(asleep);
    }
    let mut finding = Finding::new(Support::Observed, text).with(asleep);
    finding.claims = super::claims(comparison, threads);
    finding
}

/// Samples in which somebody slept who handles a request.
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
    fn of(period: &Period<'_>) -> Asleep {
        let recording = period.sources.recording;
        let mut is_asleep = stacks::are_below(recording, sleeps::SLEEP);
        let mut is_ours = |stack: StackId| is_asleep(stack) && super::is_handler(recording, stack);
        let (mut samples, mut times, mut weights) = (0, BTreeSet::new(), BTreeMap::new());
        for sample in period.samples(event::WALL).filter(|sample| is_ours(sample.stack_id)) {
            samples += 1;
            times.insert((sample.tid, sample.time_ns / BUCKET_NS));
            *weights.entry(sample.stack_id).or_default() += sample.weight_ns.max(0) as f64;
        }
        let seconds = period.seconds();
        let threads = (0.0 + weights.values().sum::<f64>()) / 1e9 / seconds;
        Asleep { samples, times: times.len() as f64, seconds, threads, weights }
    }
}
