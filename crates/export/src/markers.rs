//! The marks beside samples: stops of the application and long waits of threads, as the recording has them.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

/// Kinds of spans that are marked, with the track that they are on.
const MARKED: &[(&str, &str)] = &[
    (span::GC_PAUSE, "stops"),
    (span::SAFEPOINT, "stops"),
    (span::VM_OPERATION, "stops"),
    (span::PROCESS_STOPPED, "stops"),
    (span::HOST_STALL, "stops"),
    (span::MONITOR_ENTER, "waits"),
    (span::PARK, "waits"),
    (span::SAMPLED_WAIT, "waits"),
    (span::SOCKET_READ, "waits"),
    (span::FILE_READ, "waits"),
    (span::FILE_WRITE, "waits"),
    (span::FILE_FORCE, "waits"),
    (span::PAGE_FAULT, "waits"),
    (span::SYSTEM_CALL, "waits"),
    (span::BLOCK_REQUEST, "disk"),
    (span::REQUEST, "requests"),
];

/// Waits and requests that are shorter than this are not marked, in ns: there may be millions.
const SHORTEST_NS: i64 = 10_000_000;

/// Marks that are written; the longest ones are kept.
const MARKS_MAX: usize = 100_000;

/// Something with a beginning and an end that is worth a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// When it began, in ns since the Unix epoch.
    pub from_ns: i64,
    /// When it ended.
    pub to_ns: i64,
    /// The thread; 0 for the whole process.
    pub tid: i64,
    /// What kind of thing: `slow`, `causes`, `stops`, `waits`, `disk`, `requests`.
    pub track: &'static str,
    /// In a few words.
    pub name: String,
    /// In a sentence; may be empty.
    pub says: String,
}

/// The marks of a time that a recording has itself.
pub fn of(recording: &Recording, (from_ns, to_ns): (i64, i64)) -> Vec<Marker> {
    let kinds: Vec<_> =
        MARKED.iter().filter_map(|(kind, track)| Some((recording.strings.find(kind)?, *track))).collect();
    let mut markers: Vec<Marker> = Vec::new();
    for row in recording.spans.rows().filter(|row| row.time_ns <= to_ns && row.end_ns() >= from_ns) {
        let Some((_, track)) = kinds.iter().find(|(kind, _)| *kind == row.kind) else { continue };
        if row.duration_ns >= SHORTEST_NS || *track == "stops" && row.duration_ns > 0 {
            let (kind, name) = (recording.text(row.kind), recording.text(row.name));
            let name = if name.is_empty() { kind.to_owned() } else { format!("{kind}: {name}") };
            let says = recording.text(row.detail).to_owned();
            markers.push(Marker { from_ns: row.time_ns, to_ns: row.end_ns(), tid: row.tid, track, name, says });
        }
    }
    markers.sort_by_key(|marker| std::cmp::Reverse(marker.to_ns.saturating_sub(marker.from_ns)));
    markers.truncate(MARKS_MAX);
    markers.sort_by_key(|marker| (marker.from_ns, marker.tid));
    markers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::tests::recording;

    #[test]
    fn stops_and_long_waits_are_marked() {
        let markers = of(&recording(), (0, 9_000_000_000));
        let names: Vec<(&str, i64, &str)> = markers.iter().map(|one| (one.track, one.tid, one.name.as_str())).collect();
        assert_eq!(names, [("stops", 0, "gc_pause: Pause Young"), ("waits", 7, "monitor_enter: shop.Cart")]);
        assert!(of(&recording(), (5_000_000_000, 9_000_000_000)).is_empty());
    }
}
