//! What is waited for, and who had it when a wait ended.

use std::collections::HashMap;

use fathom_evidence::StrId;
use fathom_evidence::detail::{Wait as Detail, from_text};

use crate::sources::Sources;
use crate::states::Wait;
use crate::wakers::Wakers;

/// Identity of something that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) wait: Wait,
    name: StrId,
    address: u64,
    /// A result is one thread's own, and so is an object that somebody gave back: two that wait for results wait for different ones.
    own: (i64, u32),
}

/// Who had what others waited for.
pub(super) struct Owners<'a> {
    wakers: Wakers,
    /// Threads by name; none where several have the same.
    by_name: HashMap<&'a str, Option<i64>>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(sources: &'a Sources<'_>) -> Owners<'a> {
        let mut by_name: HashMap<&str, Option<i64>> = HashMap::new();
        for (tid, thread) in sources.recording.threads.iter() {
            let name = sources.recording.text(thread.name);
            by_name.entry(name).and_modify(|tid| *tid = None).or_insert(Some(tid));
        }
        Owners { wakers: Wakers::of(sources.recording), by_name }
    }

    pub(super) fn key(&self, sources: &Sources<'_>, wait: Wait, row: u32, tid: i64) -> Key {
        let span = sources.recording.spans.row(row as usize);
        let detail: Detail = from_text(sources.recording.text(span.detail));
        let (name, address) = (span.name, detail.address.unwrap_or_default());
        let shared = Key { wait, name, address, own: (0, 0) };
        match wait {
            Wait::Lock | Wait::Permit => shared,
            // Where nobody knows who gave an object back, nobody knows either from which of several pools alike it was.
            Wait::Pool if self.of(sources, row).is_none() => Key { address: 0, ..shared },
            _ => Key { own: (tid, row), ..shared },
        }
    }

    /// The thread that let the wait in a row end, and was not the waiting one.
    pub(super) fn of(&self, sources: &Sources<'_>, row: u32) -> Option<i64> {
        let wait = sources.recording.spans.row(row as usize);
        let named = || {
            let detail: Detail = from_text(sources.recording.text(wait.detail));
            *self.by_name.get(detail.previous_owner.as_deref()?)?
        };
        self.wakers.of_wait(&wait).or_else(named).filter(|owner| *owner != wait.tid)
    }
}
