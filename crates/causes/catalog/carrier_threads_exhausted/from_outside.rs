//! Carriers held by waiting threads, where only wait samples taken outside the JVM show them.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::event;
use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{ThreadState, Wait, of_standing, telling_frame};

use super::{CARRIERS_BUSY, MIN_INCREASE, THAWED, is_carrier};
use crate::cause::Claim;
use crate::measure::sleeps;
use crate::measure::stacks::{self, is_below};
use crate::period::Period;
use crate::{Comparison, Evidence, Finding, Support, format};

/// A carrier that waits below a frame of a virtual thread is kept by it: else the thread would have left it.
const VIRTUAL: &[&str] = &["java.lang.VirtualThread.", THAWED];

/// A carrier without a virtual thread waits there.
const FREE: &[&str] = &["java.util.concurrent.ForkJoinPool.awaitWork"];

/// Answers only where the carriers were kept: why a virtual thread waits that has left its carrier cannot be seen from outside.
pub(super) fn decide(comparison: &Comparison<'_>) -> Option<Finding> {
    let carriers = carriers(comparison);
    let now = Kept::of(comparison, &comparison.slow, &carriers);
    let before = comparison.baseline_here().map(|baseline| Kept::of(comparison, baseline, &carriers));
    let (busy, usual) = (now.busy(), before.as_ref().map(Kept::busy));
    if carriers.is_empty() || now.ns <= 0.0 || busy < CARRIERS_BUSY {
        return None;
    }
    let place = telling_frame(comparison.recording(), stacks::most_seen(&now.by_stack));
    let text = format!(
        "{} of virtual threads were busy for {} of the time{}: for {} threads that waited kept them{}, and others that could go on \
         waited for a carrier",
        format::count(carriers.len(), "carrier"),
        format::percent(busy),
        format::baseline(usual, format::percent),
        format::percent(now.part(now.ns)),
        place.map_or(String::new(), |frame| format!(", most in {frame}")),
    );
    let is_new = usual.is_none_or(|usual| busy >= usual + MIN_INCREASE);
    let evidence =
        comparison.evidence("part of the time in which the carriers were busy", (busy, usual), "ratio", "samples");
    let stack = comparison.stack_text(stacks::most_seen(&now.by_stack), 12);
    let evidence = Evidence { stack, ..evidence.of(&[event::WAIT, event::CPU]) };
    let mut finding = Finding::new(if is_new { Support::Consistent } else { Support::Weak }, text).with(evidence);
    finding.claims = now.claims(comparison, before.as_ref());
    Some(finding)
}

/// Threads that a virtual thread kept at some time, and those that wait for one.
fn carriers(comparison: &Comparison<'_>) -> BTreeSet<i64> {
    let recording = comparison.recording();
    let mut is_kept = are_kept(recording);
    let mut is_free = stacks::are_below(recording, FREE);
    let mut is_one = |wait: &Sample| {
        is_kept(wait.stack_id) || is_free(wait.stack_id) && is_carrier(comparison.thread_name(wait.tid))
    };
    comparison.sources().samples(event::WAIT).filter(|wait| is_one(wait)).map(|wait| wait.tid).collect()
}

fn are_kept(recording: &Recording) -> impl FnMut(StackId) -> bool + '_ {
    let mut is_virtual = stacks::are_below(recording, VIRTUAL);
    move |stack| is_virtual(stack) && !is_below(recording, stack, FREE)
}

/// What carriers did in some time.
struct Kept {
    /// For how long threads that waited kept them, in ns, and where, and what these waited for.
    ns: f64,
    by_stack: BTreeMap<StackId, f64>,
    by_state: BTreeMap<ThreadState, f64>,
    /// For how long they ran something, in ns.
    ran_ns: f64,
    all_ns: f64,
}

impl Kept {
    fn of(comparison: &Comparison<'_>, period: &Period<'_>, carriers: &BTreeSet<i64>) -> Kept {
        let recording = period.sources.recording;
        let is_one = |sample: &Sample| carriers.contains(&sample.tid);
        let ran = period.samples(stacks::running_event(comparison)).filter(is_one);
        let mut kept = Kept {
            ns: 0.0,
            by_stack: BTreeMap::new(),
            by_state: BTreeMap::new(),
            ran_ns: ran.map(|sample| sample.weight_ns.max(0) as f64).sum(),
            all_ns: period.seconds() * 1e9 * carriers.len() as f64,
        };
        let mut is_kept = are_kept(recording);
        for wait in period.samples(event::WAIT).filter(|wait| is_one(wait) && is_kept(wait.stack_id)) {
            let ns = wait.weight_ns.max(0) as f64;
            let state = of_standing(recording, wait.stack_id).unwrap_or(ThreadState::Blocked(Wait::Unnamed));
            kept.ns += ns;
            *kept.by_stack.entry(wait.stack_id).or_default() += ns;
            *kept.by_state.entry(state).or_default() += ns;
        }
        kept
    }

    fn part(&self, ns: f64) -> f64 {
        (ns / self.all_ns.max(1.0)).min(1.0)
    }

    fn busy(&self) -> f64 {
        self.part(self.ns + self.ran_ns)
    }

    /// What the threads that keep the carriers wait for, as far as there is more of it than before.
    fn claims(&self, comparison: &Comparison<'_>, before: Option<&Kept>) -> Vec<Claim> {
        let of = |kept: &Kept, state: ThreadState| kept.part(kept.by_state.get(&state).copied().unwrap_or(0.0));
        let more = |state: ThreadState| {
            let more_ns = (of(self, state) - before.map_or(0.0, |before| of(before, state))) * self.all_ns;
            let states = if state == ThreadState::Blocked(Wait::Unnamed) { &sleeps::STATES[..] } else { &[state] };
            Claim::parts_in_order(comparison, states, more_ns)
        };
        self.by_state.keys().flat_map(|state| more(*state)).collect()
    }
}
