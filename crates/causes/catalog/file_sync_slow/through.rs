//! Files that are written through without a sync call: opened so that each write is one (`O_DSYNC`, `"rwd"`), as the kernel
//! stack of the wait shows. Also threads that wait for another one that writes through for all of them.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Intervals, ThreadState, Wait};

use crate::Comparison;
use crate::cause::ThreadTime;
use crate::measure::waits_below::is_at_a_file;
use crate::period::Period;

/// System calls that write a file.
const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];

/// Functions of the kernel that return when data is on the disk.
const THROUGH: &[&str] = &[
    "file_write_and_wait_range",
    "vfs_fsync_range",
    "generic_write_sync",
    "ext4_sync_file",
    "xfs_file_fsync",
    "btrfs_sync_file",
    "jbd2_log_wait_commit",
    "blkdev_issue_flush",
];

/// When each thread waited in the kernel until something was on the disk.
pub(super) struct Through(ThreadTime);

impl Through {
    pub(super) fn of(period: &Period<'_>) -> Through {
        let recording = period.sources.recording;
        let mut known: HashMap<StackId, bool> = HashMap::new();
        let mut is_meant =
            |stack: StackId| stack != StackId(0) && *known.entry(stack).or_insert_with(|| is_through(recording, stack));
        let waits = period.spans(span::BLOCKED).filter(|wait| is_meant(wait.kernel_stack_id));
        Through(Intervals::by_key(waits.map(|wait| (wait.tid, wait.time_ns, wait.end_ns()))))
    }

    /// Whether a wait is a write that was written through.
    pub(super) fn has(&self, recording: &Recording, wait: &Span) -> bool {
        let is_write = recording.text(wait.kind) == span::SYSTEM_CALL && WRITES.contains(&recording.text(wait.name));
        is_write && self.0.get(&wait.tid).is_some_and(|waits| waits.touches(wait.time_ns, wait.end_ns()))
    }
}

fn is_through(recording: &Recording, stack: StackId) -> bool {
    recording.stacks.leaf_to_root(stack).any(|frame| THROUGH.contains(&recording.text(frame.symbol)))
}

/// Waits of the slow time for others that write through for all who commit: threads and when.
pub(super) fn for_others(comparison: &Comparison<'_>) -> Vec<(Wait, i64, Intervals)> {
    const BY_STACK: &[&str] = &[span::PARK, span::MONITOR_WAIT, span::SAMPLED_WAIT];
    let recording = comparison.recording();
    let is_by_stack = |row: Option<u32>| {
        row.map(|row| recording.spans.row(row as usize))
            .is_some_and(|wait| BY_STACK.contains(&recording.text(wait.kind)) && !is_at_a_file(recording, &wait))
    };
    let of_files = comparison
        .slow_waits()
        .filter(|(_, segment, _)| segment.state == ThreadState::Blocked(Wait::File) && is_by_stack(segment.row));
    of_files
        .map(|(tid, segment, _)| (Wait::File, tid, Intervals::union(vec![(segment.from_ns, segment.to_ns)])))
        .collect()
}
