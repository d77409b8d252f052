//! How much of the application's CPU time is below some function: CPU samples by their stacks.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::kinds::{event, frame, span};
use fathom_evidence::{Recording, StackId};
pub use fathom_timeline::is_below;
use fathom_timeline::{Layer, ThreadState};

use crate::cause::Claim;
use crate::comparison::Comparison;
use crate::period::Period;

/// Whether CPU was sampled with the frames of the JVM and of libraries, as JFR's own samples are not.
pub fn has_native_frames(comparison: &Comparison<'_>) -> bool {
    has_frames_of(comparison, &[frame::VM, frame::NATIVE, frame::KERNEL])
}

/// Whether samples and waits have frames of the kernel: who is held up in it is in one of them.
pub fn sees_the_kernel(comparison: &Comparison<'_>) -> bool {
    let (recording, sources) = (comparison.recording(), comparison.sources());
    let mut waits = [span::PAGE_FAULT, span::BLOCKED].into_iter().flat_map(|kind| sources.spans(kind));
    const LAYER: &[&str] = &[frame::KERNEL];
    has_frames_of(comparison, LAYER) && waits.any(|wait| has_frame_of(recording, wait.kernel_stack_id, LAYER))
}

fn has_frames_of(comparison: &Comparison<'_>, layers: &[&str]) -> bool {
    let recording = comparison.recording();
    let mut samples = comparison.sources().samples(event::CPU).take(10_000);
    samples.any(|sample| has_frame_of(recording, sample.stack_id, layers))
}

/// Whether a stack has a frame of one of the layers.
pub fn has_frame_of(recording: &Recording, stack: StackId, layers: &[&str]) -> bool {
    recording.stacks.leaf_to_root(stack).any(|frame| layers.contains(&recording.text(frame.kind)))
}

/// The event that tells what ran: samples of the CPU, or those that JFR makes of a few threads.
pub fn running_event(comparison: &Comparison<'_>) -> &'static str {
    comparison.sources().running_event().unwrap_or(event::EXECUTION)
}

/// Which part of the application's CPU is below a function.
#[derive(Debug, Clone, Default)]
pub struct Below {
    /// Share of the application's samples, in the slow time and in the baseline.
    pub share: (f64, Option<f64>),
    /// The stack that was seen most.
    pub stack: StackId,
    /// The time that it accounts for.
    pub claims: Vec<Claim>,
}

/// Measures what is below a function whose name begins with one of `names`.
pub fn below(comparison: &Comparison<'_>, names: &[&str]) -> Below {
    below_by(comparison, |recording, stack| is_below(recording, stack, names))
}

/// Measures what is in the stacks that `select` chooses.
pub fn below_by(comparison: &Comparison<'_>, select: impl Fn(&Recording, StackId) -> bool) -> Below {
    let slow = Seen::of(comparison, &comparison.slow, &select);
    let baseline = comparison.baseline.as_ref().map(|baseline| Seen::of(comparison, baseline, &select));
    let claims = slow.by_layer.keys().filter_map(|layer| {
        let excess = comparison.excess().of(ThreadState::Running(*layer))?;
        let part = |seen: &Seen| seen.by_layer.get(layer).map_or(0.0, |(below, all)| below / all.max(1.0));
        let baseline_part = baseline.as_ref().map_or(0.0, part);
        let at_most_ns = part(&slow) * excess.slow_ns - baseline_part * excess.baseline_ns;
        (at_most_ns > 0.0).then(|| Claim::part(ThreadState::Running(*layer), at_most_ns))
    });
    Below {
        share: (slow.share(), baseline.as_ref().filter(|seen| !seen.by_layer.is_empty()).map(Seen::share)),
        stack: most_seen(&slow.stacks),
        claims: claims.collect(),
    }
}

/// Weights of samples of one period.
#[derive(Default)]
struct Seen {
    /// Below the function, and all, by the layer of the leaf.
    by_layer: BTreeMap<Layer, (f64, f64)>,
    /// Weight of each stack below the function.
    stacks: HashMap<StackId, f64>,
}

impl Seen {
    fn of(comparison: &Comparison<'_>, period: &Period<'_>, select: impl Fn(&Recording, StackId) -> bool) -> Seen {
        let recording = period.sources.recording;
        let mut kinds: HashMap<StackId, (Layer, bool)> = HashMap::new();
        let mut seen = Seen::default();
        let event = running_event(comparison);
        for sample in period.samples(event).filter(|sample| period.sources.is_application(sample.tid)) {
            let (layer, is_below) = *kinds
                .entry(sample.stack_id)
                .or_insert_with(|| (Layer::of_stack(recording, sample.stack_id), select(recording, sample.stack_id)));
            let weight = sample.weight_ns.max(1) as f64;
            let (below, all) = seen.by_layer.entry(layer).or_default();
            *all += weight;
            if is_below {
                *below += weight;
                *seen.stacks.entry(sample.stack_id).or_default() += weight;
            }
        }
        seen
    }

    fn share(&self) -> f64 {
        let (below, all) = self.by_layer.values().fold((0.0, 0.0), |sum, layer| (sum.0 + layer.0, sum.1 + layer.1));
        if all > 0.0 { below / all } else { 0.0 }
    }
}

/// The stack with the largest weight.
pub fn most_seen<'w>(weights: impl IntoIterator<Item = (&'w StackId, &'w f64)>) -> StackId {
    let most = weights.into_iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
    most.map_or(StackId(0), |(stack, _)| *stack)
}

/// The same as a question about many stacks; each stack is inspected once.
pub fn are_below<'r>(recording: &'r Recording, names: &'r [&'r str]) -> impl FnMut(StackId) -> bool + 'r {
    let mut known: HashMap<StackId, bool> = HashMap::new();
    move |stack| *known.entry(stack).or_insert_with(|| is_below(recording, stack, names))
}
