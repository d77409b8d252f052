//! Sleeps of native code that the application calls: a database that tries a lock again, say. The JVM itself puts threads
//! to sleep in another way.

use std::collections::{HashMap, HashSet};

use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{begins_with, is_own};

use crate::measure::syscalls::ByThread;
use crate::period::Period;

/// As the scheduler's waits in such system calls are called.
const SLEEP: &str = "sleep";

/// Functions of C libraries that sleep, without the marks for what is their own.
const SLEEPING: &[&str] = &["clock_nanosleep", "nanosleep", "usleep"];

/// The function that sleeps stands so near to the end of a stack.
const INNERMOST: usize = 4;

/// Which waits are such sleeps.
pub(super) struct Sleeps<'r> {
    recording: &'r Recording,
    by_stack: HashMap<StackId, bool>,
    /// Threads with some waits whose stacks were seen. Their other waits are taken to be alike.
    sleepers: HashSet<i64>,
}

impl<'r> Sleeps<'r> {
    pub(super) fn of(period: &Period<'r>) -> Sleeps<'r> {
        let recording = period.sources.recording;
        let mut sleeps = Sleeps { recording, by_stack: HashMap::new(), sleepers: HashSet::new() };
        let seen: Vec<Span> = period.spans(span::BLOCKED).filter(|wait| sleeps.stands_in_one(wait.stack_id)).collect();
        sleeps.sleepers = seen.iter().map(|wait| wait.tid).collect();
        sleeps
    }

    pub(super) fn has(&mut self, wait: &Span) -> bool {
        let is_alike = wait.stack_id == StackId(0) && self.recording.text(wait.name) == SLEEP;
        is_alike && self.sleepers.contains(&wait.tid) || self.stands_in_one(wait.stack_id)
    }

    fn stands_in_one(&mut self, stack: StackId) -> bool {
        let recording = self.recording;
        *self.by_stack.entry(stack).or_insert_with(|| stands_in_one(recording, stack))
    }
}

/// How many threads sleep so on average, as the kernel counted it: most sleeps are too short to be kept one by one.
pub(super) fn counted(period: &Period<'_>, is_one: impl Fn(i64) -> bool) -> f64 {
    ByThread::of(period, counter::BLOCKED_NS, &[SLEEP]).rise(period, is_one) / 1e9 / period.seconds()
}

fn stands_in_one(recording: &Recording, stack: StackId) -> bool {
    let is_sleep = |symbol: &str| {
        let plain = symbol.trim_start_matches("__GI_").trim_start_matches('_');
        begins_with(plain, SLEEPING)
    };
    let mut inner = recording.stacks.leaf_to_root(stack).take(INNERMOST);
    inner.any(|frame| is_sleep(recording.text(frame.symbol)))
        && recording.stacks.leaf_to_root(stack).any(|frame| is_own(recording, &frame))
}
