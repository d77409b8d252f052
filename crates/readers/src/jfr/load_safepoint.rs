//! Safepoints, put together from the events that share a `safepointId`.
//!
//! * `jdk.SafepointBegin` lasts from the request until the last thread has stopped: its duration *is*
//!   the time to safepoint.
//! * The application stands still from the start of `SafepointBegin` to the end of `SafepointEnd`. Where
//!   the latter is not recorded (it is off by default), the end of the last operation stands in for it.
//! * A begin alone tells the time to safepoint and nothing about the length of the stop.

use fathom_evidence::detail::{self, Safepoint};
use fathom_evidence::{Recording, kinds};

use super::load_map::SafepointPart;

/// One event of a safepoint.
#[derive(Debug, Clone)]
pub(super) struct SafepointEvent {
    pub(super) id: i64,
    pub(super) part: SafepointPart,
    pub(super) time_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) threads: Option<i64>,
    pub(super) running_threads: Option<i64>,
    /// Of an operation: its name.
    pub(super) operation: String,
}

impl SafepointEvent {
    fn end_ns(&self) -> i64 {
        self.time_ns.saturating_add(self.duration_ns)
    }
}

/// Writes the spans of all safepoints.
pub(super) fn finish(mut events: Vec<SafepointEvent>, recording: &mut Recording, source: &str) {
    events.sort_by_key(|event| (event.id, event.time_ns));
    for safepoint in events.chunk_by(|a, b| a.id == b.id) {
        write(safepoint, recording, source);
    }
}

fn write(events: &[SafepointEvent], recording: &mut Recording, source: &str) {
    let first = |part| events.iter().find(move |event| event.part == part);
    let Some(begin) = first(SafepointPart::Begin) else { return };
    let synchronization = first(SafepointPart::Synchronization);
    let operations = || events.iter().filter(|event| event.part == SafepointPart::Operation);
    let count = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    let mut safepoint = Safepoint {
        safepoint_id: count(Some(begin.id)),
        threads: count(begin.threads),
        running_threads: synchronization.and_then(|event| count(event.running_threads)),
        ..Safepoint::default()
    };
    let text = detail::to_text(&safepoint);
    let kind = kinds::span::TIME_TO_SAFEPOINT;
    recording.add_span(begin.time_ns, begin.duration_ns, 0, kind, "", &text, source);

    let end_ns = first(SafepointPart::End).or_else(|| operations().max_by_key(|event| event.end_ns()));
    let Some(end_ns) = end_ns.map(SafepointEvent::end_ns).filter(|end| *end >= begin.end_ns()) else { return };
    safepoint.time_to_safepoint_ns = count(Some(begin.duration_ns));
    let name = operations().next().map_or("", |event| event.operation.as_str());
    let text = detail::to_text(&safepoint);
    recording.add_span(
        begin.time_ns,
        end_ns.saturating_sub(begin.time_ns),
        0,
        kinds::span::SAFEPOINT,
        name,
        &text,
        source,
    );
}
