//! What no cause explains: its biggest part, and the stacks seen most while it was slow.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;
use fathom_timeline::Cell;

use crate::case::{Case, Side};
use crate::engine::MATERIAL_THREADS;
use crate::explanation::{StackShare, Unexplained};
use crate::say;

/// How many stacks are shown.
const STACKS: usize = 3;

/// How much of a stack is shown.
const DEPTH: usize = 12;

/// Describes what is left of the lost time.
pub(crate) fn of(case: &Case<'_>, left: &BTreeMap<Cell, f64>, share: f64) -> Unexplained {
    let slow_ns = case.excess().slow_ns;
    let hardly = left.values().sum::<f64>() < MATERIAL_THREADS * slow_ns;
    let biggest = left.iter().filter(|(_, ns)| **ns > 0.0).max_by(|a, b| a.1.total_cmp(b.1));
    let says = match biggest {
        _ if case.analysis.pain.intervals.is_empty() => String::new(),
        _ if hardly && share > 0.0 => {
            "hardly anything that was recorded grew in the slow time: look at what was not recorded".to_owned()
        }
        Some((cell, ns)) if slow_ns > 0.0 => {
            format!("biggest part: {cell}, +{} threads on average", say::number(ns / slow_ns))
        }
        _ => String::new(),
    };
    let stacks = if share > 0.0 && !hardly { hottest(case) } else { Vec::new() };
    Unexplained { share, says, stacks }
}

/// The stacks of the application whose share of the samples grew most.
fn hottest(case: &Case<'_>) -> Vec<StackShare> {
    let slow = shares(&case.slow);
    let same_recording = case.quiet.as_ref().filter(|quiet| std::ptr::eq(quiet.view, case.slow.view));
    let quiet = same_recording.map(shares).unwrap_or_default();
    let mut grown: Vec<(StackId, f64, f64)> = slow
        .into_iter()
        .map(|(stack, share)| (stack, share, share - quiet.get(&stack).copied().unwrap_or(0.0)))
        .filter(|(_, _, growth)| *growth > 0.0)
        .collect();
    grown.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let shown = grown.into_iter().take(STACKS);
    shown.map(|(stack, share, _)| StackShare { stack: case.stack_text(stack, DEPTH), share }).collect()
}

fn shares(side: &Side<'_>) -> HashMap<StackId, f64> {
    let mut counts: HashMap<StackId, f64> = HashMap::new();
    for event in [event::CPU, event::EXECUTION] {
        let samples = side.samples(event).filter(|sample| side.view.is_application(sample.tid));
        samples.for_each(|sample| *counts.entry(sample.stack_id).or_default() += 1.0);
        if !counts.is_empty() {
            break;
        }
    }
    let total: f64 = counts.values().sum();
    counts.values_mut().for_each(|count| *count /= total);
    counts
}
