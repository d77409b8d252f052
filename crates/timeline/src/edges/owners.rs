//! What is waited for, and who had it when a wait ended.

use std::collections::HashMap;

use fathom_evidence::detail::{Wait as Detail, from_text};
use fathom_evidence::{StackId, StrId};

use crate::sources::Sources;
use crate::states::Wait;
use crate::waits::telling_frame;
use crate::wakers::Wakers;

/// Identity of something that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) wait: Wait,
    pub(super) name: StrId,
    address: u64,
    /// Where in the program it is waited for, if that is all that tells one lock from another.
    place: StrId,
    /// Set for a result, or an object that a known thread returned: no two waits share one.
    own: (i64, u32),
}

impl Key {
    /// Whether nothing but the place tells which lock it is.
    pub(super) fn is_by_place(&self) -> bool {
        matches!(self.wait, Wait::Lock | Wait::Permit) && self.address == 0
    }
}

/// Who had what others waited for.
pub(super) struct Owners<'a> {
    wakers: Wakers,
    /// Threads by name; none where several have the same.
    by_name: HashMap<&'a str, Option<i64>>,
    /// What was found already.
    places: HashMap<StackId, StrId>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(sources: &'a Sources<'_>) -> Owners<'a> {
        let mut by_name: HashMap<&str, Option<i64>> = HashMap::new();
        for (tid, thread) in sources.recording.threads.iter() {
            let name = sources.recording.text(thread.name);
            by_name.entry(name).and_modify(|tid| *tid = None).or_insert(Some(tid));
        }
        Owners { wakers: Wakers::of(sources.recording), by_name, places: HashMap::new() }
    }

    pub(super) fn key(&mut self, sources: &Sources<'_>, wait: Wait, row: u32, tid: i64) -> Key {
        let span = sources.recording.spans.row(row as usize);
        let detail: Detail = from_text(sources.recording.text(span.detail));
        let (name, address) = (span.name, detail.address.unwrap_or_default());
        let shared = Key { wait, name, address, place: StrId::default(), own: (0, 0) };
        match wait {
            Wait::Lock | Wait::Permit if address == 0 => Key { place: self.place(sources, span.stack_id), ..shared },
            Wait::Lock | Wait::Permit => shared,
            // If it is unknown who returned the object, it is also unknown which of several similar pools it came from.
            Wait::Pool if self.of(sources, row).is_none() => Key { address: 0, ..shared },
            _ => Key { own: (tid, row), ..shared },
        }
    }

    fn place(&mut self, sources: &Sources<'_>, stack: StackId) -> StrId {
        let recording = sources.recording;
        let find = || recording.strings.find(telling_frame(recording, stack)?);
        *self.places.entry(stack).or_insert_with(|| find().unwrap_or_default())
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
