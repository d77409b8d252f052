//! Which kinds of requests came when, and how they were answered: counts by the second.

use std::collections::BTreeSet;

use fathom_evidence::kinds::{counter, loss};
use fathom_evidence::{Recording, StrId};
use rustc_hash::FxHashMap;

use crate::counts::{Counts, Id};
use crate::latency::kinds::Kinds;
use crate::latency::parse_request::Request;
use crate::lines;

/// Counts of requests. They stand at the start of each: how long it took must not move it.
#[derive(Debug, Default)]
pub(super) struct Mix {
    kinds: Kinds,
    by_kind: Counts,
    by_status: Counts,
    /// Those there are.
    statuses: BTreeSet<u16>,
    /// Kinds of names that were met before.
    known: FxHashMap<StrId, Id>,
}

impl Mix {
    /// Counts a request, whose name is known by a number if there is room for it.
    pub(super) fn add(&mut self, request: &Request<'_>, name: StrId) {
        if !request.name.is_empty() {
            let id = self.kind(request.name, name);
            self.kinds.count(id);
            self.by_kind.add(id, request.start_ns);
        }
        if let Some(status) = request.status {
            self.by_status.add(Id::from(status), request.start_ns);
            self.statuses.insert(status);
        }
    }

    fn kind(&mut self, text: &[u8], name: StrId) -> Id {
        if name == StrId(0) {
            return self.kinds.of(text);
        }
        let kinds = &mut self.kinds;
        *self.known.entry(name).or_insert_with(|| kinds.of(text))
    }

    pub(super) fn write(self, recording: &mut Recording, source: &str, series: i64) {
        if self.kinds.is_full {
            let says = "requests are of more kinds than are kept apart: the others are counted together";
            recording.add_loss(source, loss::LIMIT, 0, says);
        }
        let kinds: Vec<String> = self.kinds.names();
        let kinds: Vec<StrId> =
            kinds.iter().map(|name| recording.strings.intern(&lines::shown(name.as_bytes()))).collect();
        let mut statuses = Vec::new();
        for status in self.statuses {
            statuses.resize(usize::from(status), StrId(0));
            statuses.push(recording.strings.intern(&status.to_string()));
        }
        self.by_kind.write(recording, source, (counter::REQUEST_KINDS_COUNT, series), &kinds);
        self.by_status.write(recording, source, (counter::REQUEST_STATUS_COUNT, series), &statuses);
    }
}
