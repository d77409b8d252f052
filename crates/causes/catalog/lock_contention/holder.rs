//! The owner of a lock that threads wait for, if the JVM does not report it: a thread that stays in the same method all the
//! while, for another reason than the lock.

use std::collections::{BTreeMap, HashSet};

use fathom_evidence::{Recording, StackId};
use fathom_timeline::ThreadState;

use super::is_ours;
use crate::{Comparison, format};

/// Who stands there for less of the slow time only passes by.
const MIN_SHARE_STANDING: f64 = 0.5;

/// The thread that stays in a method in which others wait for a lock; `None` if there is none, or more than one.
pub(super) fn seen_in(comparison: &Comparison<'_>, method: &str) -> Option<String> {
    let recording = comparison.recording();
    let below = stacks_below(recording, method);
    let mut waits: BTreeMap<i64, BTreeMap<ThreadState, f64>> = BTreeMap::new();
    let partition = &comparison.analysis.account.partition;
    let own = partition.recorded().filter(|(tid, _)| comparison.sources().is_application(*tid));
    let segments = own.flat_map(|(tid, recorded)| recorded.iter().map(move |segment| (tid, segment)));
    for (tid, segment) in segments.filter(|(_, segment)| !is_ours(segment.state)) {
        let stack = segment.row.map(|row| recording.spans.row(row as usize).stack_id);
        if stack.is_some_and(|stack| below.contains(&stack)) {
            let ns = segment.within_ns(&comparison.slow.time) as f64;
            *waits.entry(tid).or_default().entry(segment.state).or_default() += ns;
        }
    }
    let slow_ns = comparison.slow.time.total_ns() as f64;
    let mut candidates = waits.into_iter().filter_map(|(tid, states)| {
        let (state, ns) = states.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (ns >= MIN_SHARE_STANDING * slow_ns).then_some((tid, state, ns / slow_ns))
    });
    let (tid, state, part) = candidates.next().filter(|_| candidates.next().is_none())?;
    let thread = match comparison.thread_name(tid) {
        "" => format!("thread {tid}"),
        name => name.to_owned(),
    };
    let doing = match state {
        ThreadState::Unknown => "off its CPU".to_owned(),
        state => state.to_string(),
    };
    let part = format::percent(part);
    Some(format!("; {thread} was in {method} as well, {doing} for {part} of the time: it may have the lock"))
}

/// The stacks in which a method is at work.
fn stacks_below(recording: &Recording, method: &str) -> HashSet<StackId> {
    let is_in =
        |stack: &StackId| recording.stacks.leaf_to_root(*stack).any(|frame| recording.text(frame.symbol) == method);
    let stacks: HashSet<StackId> = recording.spans.stack_id.iter().copied().collect();
    stacks.into_iter().filter(is_in).collect()
}
