//! What no cause explains: its biggest part, and the stacks seen most while it was slow.

use std::collections::BTreeMap;

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;

use crate::attribution::Left;
use crate::comparison::Comparison;
use crate::explanation::{DrillDown, StackShare, Unexplained};
use crate::limits::{MINOR_SHARE, NEGLIGIBLE_SHARE};
use crate::period::Period;
use crate::{drill_down, format};

/// How many stacks are shown.
const STACKS: usize = 3;

/// How much of a stack is shown.
const DEPTH: usize = 12;

/// Describes what is left of the lost time.
pub(crate) fn of(comparison: &Comparison<'_>, left: &Left, share: f64, lost_ns: f64) -> Unexplained {
    let slow_ns = comparison.excess().slow_ns;
    let hardly = left.by_state.values().sum::<f64>() < comparison.material_ns();
    let biggest = left.by_state.iter().filter(|(_, ns)| **ns > 0.0).max_by(|a, b| a.1.total_cmp(b.1));
    let says = match biggest {
        _ if !comparison.is_slow() => String::new(),
        _ if hardly && share > 0.0 => {
            "nothing that was recorded increased during the slow period; the cause is probably in something that was not recorded"
                .to_owned()
        }
        Some((state, ns)) if slow_ns > 0.0 => {
            let biggest = format!("biggest part: {state}, +{} threads on average", format::number(ns / slow_ns));
            biggest + &unseen(comparison, share).unwrap_or_default()
        }
        _ => String::new(),
    };
    let shows_stacks = share > 0.0 && !hardly;
    let mut stacks = if shows_stacks { waiting(comparison, left, lost_ns) } else { Vec::new() };
    stacks.extend(if shows_stacks { hottest(comparison) } else { Vec::new() });
    let drill_down = match biggest {
        Some((state, _)) if comparison.is_slow() && shows_stacks => drill_down::of_state(comparison, *state),
        _ => DrillDown::default(),
    };
    Unexplained { share, says, stacks, drill_down }
}

/// That waits were not recorded in a part of the slow time: `fathom watch` records them only from its trigger on.
fn unseen(comparison: &Comparison<'_>, share: f64) -> Option<String> {
    let (seen_ns, all_ns) = (comparison.waits_read_ns() as f64, comparison.slow.time.total_ns() as f64);
    (seen_ns > 0.0 && seen_ns < (1.0 - MINOR_SHARE) * all_ns && share >= MINOR_SHARE).then(|| {
        let (seen, all) = (format::time(seen_ns), format::time(all_ns));
        format!("; what threads waited for was recorded for {seen} of the {all} only")
    })
}

/// The stacks below which threads waited without an explanation, with their part of the lost time.
fn waiting(comparison: &Comparison<'_>, left: &Left, lost_ns: f64) -> Vec<StackShare> {
    let known = left.by_stack.iter().filter(|((_, stack), ns)| *stack != StackId(0) && **ns > 0.0);
    let mut most: Vec<(StackId, f64)> = known.map(|((_, stack), ns)| (*stack, *ns)).collect();
    most.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let share = |ns: f64| ns / lost_ns.max(1.0);
    let worth = most.into_iter().filter(|(_, ns)| share(*ns) >= NEGLIGIBLE_SHARE).take(STACKS);
    worth.map(|(stack, ns)| StackShare { stack: comparison.wait_text(stack, DEPTH), share: share(ns) }).collect()
}

/// The stacks of the application that run more than before, with their share of the samples.
fn hottest(comparison: &Comparison<'_>) -> Vec<StackShare> {
    let slow = weights(&comparison.slow);
    let baseline = comparison.baseline_here().map(weights).unwrap_or_default();
    let total: f64 = slow.values().sum();
    let mut grown: Vec<(StackId, f64, f64)> = slow
        .into_iter()
        .map(|(stack, weight)| (stack, weight / total, weight - baseline.get(&stack).copied().unwrap_or(0.0)))
        .filter(|(_, share, growth)| *growth > 0.0 && *share > 0.0)
        .collect();
    grown.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let shown = grown.into_iter().take(STACKS);
    shown.map(|(stack, share, _)| StackShare { stack: comparison.stack_text(stack, DEPTH), share }).collect()
}

/// Samples of each stack of the application, per second.
fn weights(period: &Period<'_>) -> BTreeMap<StackId, f64> {
    let mut counts: BTreeMap<StackId, f64> = BTreeMap::new();
    for event in [event::CPU, event::EXECUTION] {
        let samples = period.samples(event).filter(|sample| period.sources.is_application(sample.tid));
        samples.for_each(|sample| *counts.entry(sample.stack_id).or_default() += 1.0 / period.seconds());
        if !counts.is_empty() {
            break;
        }
    }
    counts
}
