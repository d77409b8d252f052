//! Threads wait for a lock on a file, which another process may have.

use std::collections::BTreeMap;

use fathom_evidence::detail::SystemCall;
use fathom_evidence::kinds::span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::waits;
use crate::{Cause, Comparison, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_locked",
    readme: include_str!("README.md"),
    refines: &[],
    has_lab: false,
    collectors: &["system_calls"],
    actions: &[
        "see who has it: /proc/locks has the process and the file's inode (lslocks)",
        "hold it for less, or ask for it with a limit (tryLock) and do something else meanwhile",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let names = ("locks on files", "a lock on a file");
    waits::finding(comparison, Wait::FileLock, names, &on_what(comparison), &[span::SYSTEM_CALL])
        .unwrap_or_else(|| none_seen(comparison))
}

/// The JVM tells nothing of such waits.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    match comparison.sources().spans(span::SYSTEM_CALL).len() {
        0 => Finding::needs_kernel("waits for locks on files were not recorded"),
        _ => Finding::absent("no thread was seen to wait long for a lock on a file"),
    }
}

/// `; most of it for /data/journal`.
fn on_what(comparison: &Comparison<'_>) -> String {
    let recording = comparison.recording();
    let mut files: BTreeMap<String, i64> = BTreeMap::new();
    for (_, segment, _) in comparison.slow_waits().filter(|(_, s, _)| s.state == ThreadState::Blocked(Wait::FileLock)) {
        let call = segment.row.map(|row| recording.spans.row(row as usize));
        let path = call.and_then(|call| comparison.slow.detail::<SystemCall>(&call).path);
        *files.entry(path.unwrap_or_default()).or_default() += segment.within_ns(&comparison.slow.time);
    }
    let most = files.into_iter().max_by_key(|(_, ns)| *ns).map(|(path, _)| path);
    most.filter(|path| !path.is_empty()).map_or_else(String::new, |path| format!("; most of it for {path}"))
}
