//! What samples of the wall clock tell of sleeps that nobody measured: for how much of the time threads slept.

use std::collections::BTreeMap;

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;

use crate::measure::{growth, recording_threshold, stacks};
use crate::period::Period;
use crate::{Comparison, Evidence, Finding, Support, format};

/// Fewer samples tell nothing.
const MIN_SAMPLES: usize = 20;

pub(super) fn decide(comparison: &Comparison<'_>) -> Finding {
    let slow = Asleep::of(&comparison.slow);
    if slow.samples < MIN_SAMPLES {
        return recording_threshold::of_waits(comparison, &["jdk.ThreadSleep"], "sleeps of who handles requests");
    }
    let Some(baseline) = comparison.baseline.as_ref().map(Asleep::of) else {
        let says = "threads sleep while they handle requests, and nobody knows whether they always do";
        return Finding::unknown(says, "fathom explain … --baseline RECORDING");
    };
    let threads = (slow.threads, Some(baseline.threads));
    let most = stacks::most_seen(&slow.weights);
    let asleep = comparison.evidence("threads asleep while they handle requests", threads, "threads", "samples");
    let asleep = Evidence { stack: comparison.wait_text(most, 12), ..asleep.of(&[event::WALL]) };
    let text = format!(
        "{} threads sleep on average while they handle requests{}, most of it in {} (samples of the wall clock)",
        format::number(slow.threads),
        format::before(threads.1, format::number),
        super::sleeper(comparison.recording(), most).unwrap_or("code without a name"),
    );
    if !growth::grew(threads) {
        return Finding::absent(format!("{text}: no more than before")).with(asleep);
    }
    let mut finding = Finding::new(Support::Observed, text).with(asleep);
    finding.claims = super::claims(comparison, threads);
    finding
}

/// Samples in which somebody slept who handles a request.
struct Asleep {
    samples: usize,
    /// How many slept on average.
    threads: f64,
    /// By stack, in ns.
    weights: BTreeMap<StackId, f64>,
}

impl Asleep {
    fn of(side: &Period<'_>) -> Asleep {
        let recording = side.sources.recording;
        let mut sleeps = stacks::are_below(recording, super::SLEEP);
        let mut is_ours = |stack: StackId| sleeps(stack) && super::is_handler(recording, stack);
        let (mut samples, mut weights) = (0, BTreeMap::new());
        for sample in side.samples(event::WALL).filter(|sample| is_ours(sample.stack_id)) {
            samples += 1;
            *weights.entry(sample.stack_id).or_default() += sample.weight_ns.max(0) as f64;
        }
        let threads = (0.0 + weights.values().sum::<f64>()) / 1e9 / side.seconds();
        Asleep { samples, threads, weights }
    }
}
