//! What ran on the application's threads, by method.

use std::collections::BTreeMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Layer, begins_with};

use crate::measure::stacks;
use crate::period::Period;

/// Native methods of the class library for input and output, threads and memory: what grows in them has causes of its own.
const OF_OTHER_CAUSES: &[&str] =
    &["java.io.", "java.net.", "java.lang.", "sun.nio.", "jdk.internal.", "sun.misc.", "jdk.jfr."];

/// CPU of a method.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cpu {
    /// Cores of its own code.
    pub(super) java: f64,
    /// Cores of the native code that it calls.
    pub(super) native: f64,
    pub(super) samples: usize,
}

impl Cpu {
    pub(super) fn cores(self) -> f64 {
        self.java + self.native
    }
}

/// CPU by method: those that were compiled by themselves, since which of those inlined into them ran is a guess.
#[derive(Default)]
pub(super) struct Methods {
    pub(super) by_method: BTreeMap<String, Cpu>,
    /// The stack that was seen most, by method.
    stacks: BTreeMap<String, BTreeMap<StackId, f64>>,
    /// Cores of what ran innermost, inlined or not.
    by_leaf: BTreeMap<String, f64>,
    /// The same of each method.
    leaves: BTreeMap<String, BTreeMap<String, f64>>,
    pub(super) cores: f64,
}

/// The leaves that took most of a method's time, up to this part of it, describe the method; the other leaves are chance.
const MAIN_LEAVES: f64 = 0.8;

impl Methods {
    pub(super) fn of(period: &Period<'_>, event: &str) -> Methods {
        let mut methods = Methods::default();
        for sample in period.samples(event).filter(|sample| period.sources.is_application(sample.tid)) {
            let cores = sample.weight_ns.max(0) as f64 / 1e9 / period.seconds();
            let Some((method, layer)) = method(period.sources.recording, sample.stack_id) else { continue };
            let leaf = leaf(period.sources.recording, sample.stack_id).unwrap_or(method);
            methods.cores += cores;
            let known = methods.by_method.entry(method.to_owned()).or_default();
            *(if layer == Layer::Native { &mut known.native } else { &mut known.java }) += cores;
            known.samples += 1;
            *methods.by_leaf.entry(leaf.to_owned()).or_default() += cores;
            *methods.leaves.entry(method.to_owned()).or_default().entry(leaf.to_owned()).or_default() += cores;
            *methods.stacks.entry(method.to_owned()).or_default().entry(sample.stack_id).or_default() += cores;
        }
        methods
    }

    pub(super) fn cpu(&self, method: &str) -> Cpu {
        self.by_method.get(method).copied().unwrap_or_default()
    }

    pub(super) fn cores(&self, method: &str) -> f64 {
        self.cpu(method).cores()
    }

    /// What took most of a method's time, and how much of it.
    pub(super) fn main_leaves(&self, method: &str) -> Vec<(&str, f64)> {
        let mut leaves: Vec<(&str, f64)> =
            self.leaves.get(method).into_iter().flatten().map(|(leaf, cores)| (leaf.as_str(), *cores)).collect();
        leaves.sort_by(|a, b| b.1.total_cmp(&a.1));
        let enough = MAIN_LEAVES * self.cores(method);
        let mut sum = 0.0;
        leaves
            .into_iter()
            .take_while(|(_, cores)| {
                let is_needed = sum < enough;
                sum += cores;
                is_needed
            })
            .collect()
    }

    /// All that ran innermost, with its cores.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (&str, f64)> {
        self.by_leaf.iter().map(|(leaf, cores)| (leaf.as_str(), *cores))
    }

    /// Cores of what ran innermost, in whatever method it was.
    pub(super) fn of_leaf(&self, leaf: &str) -> f64 {
        self.by_leaf.get(leaf).copied().unwrap_or(0.0)
    }

    pub(super) fn stack(&self, method: &str) -> StackId {
        self.stacks.get(method).map_or(StackId(0), stacks::most_seen)
    }
}

/// The innermost Java method of a stack, inlined or not.
fn leaf(recording: &Recording, stack: StackId) -> Option<&str> {
    let is_native = |kind| recording.text(kind) == frame::NATIVE;
    let mut frames = recording.stacks.leaf_to_root(stack).skip_while(|frame| is_native(frame.kind));
    frames.next().map(|frame| recording.text(frame.symbol))
}

/// The innermost compiled method of a stack whose leaf is Java, or the one that called the native code which is.
pub(super) fn method(recording: &Recording, stack: StackId) -> Option<(&str, Layer)> {
    let kind = |kind| recording.text(kind);
    let is_java = |of: &str| matches!(of, frame::COMPILED | frame::C1 | frame::INLINED | "");
    let is_native = |of: &str| of == frame::NATIVE;
    let mut frames = recording.stacks.leaf_to_root(stack).peekable();
    let layer = if is_native(kind(frames.peek()?.kind)) { Layer::Native } else { Layer::Java };
    let mut frames = frames.skip_while(|frame| is_native(kind(frame.kind))).peekable();
    frames.peek().filter(|frame| is_java(kind(frame.kind)))?;
    let method = frames.find(|frame| kind(frame.kind) != frame::INLINED).map(|frame| recording.text(frame.symbol))?;
    let is_ours = layer == Layer::Java || !begins_with(method, OF_OTHER_CAUSES);
    is_ours.then_some((method, layer))
}
