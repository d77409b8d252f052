//! Threads wait for a lock on a file, which another process may have.

use fathom_evidence::kinds::span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::{block_io, waits};
use crate::{Cause, Comparison, Family, Finding, Need};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_locked",
    readme: include_str!("README.md"),
    family: Family::Files,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["system_calls"],
    needs: &[&[Need::Spans(span::SYSTEM_CALL, "system_calls")]],
    actions: &[
        "find the holder: /proc/locks has the process and the file's inode (lslocks)",
        "hold it for a shorter time, or use tryLock and do something else meanwhile",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let names = ("locks on files", "a lock on a file");
    waits::finding(comparison, Wait::FileLock, names, &on_what(comparison), &[span::SYSTEM_CALL])
        .unwrap_or_else(|| waits::none_seen(comparison, NOT_RECORDED, NONE))
}

/// Used where no such wait was seen: the JVM does not report them.
const NOT_RECORDED: &str = "waits for locks on files were not recorded";
const NONE: &str = "no thread was seen to wait long for a lock on a file";

/// `; most of it for /data/journal`.
fn on_what(comparison: &Comparison<'_>) -> String {
    let ours = comparison.slow_waits().filter(|(_, wait, _)| wait.state == ThreadState::Blocked(Wait::FileLock));
    let calls = ours.filter_map(|(_, wait, _)| {
        let call = comparison.recording().spans.row(wait.row? as usize);
        Some((call, wait.within_ns(&comparison.slow.time)))
    });
    block_io::most_of_it(&comparison.slow, calls)
}
